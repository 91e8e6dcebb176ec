-- A look at the node's process, for the restart guard. The names are explained in `guard.lua`.
-- What INFO says under this name. Searching for a plain text is many times faster than for a pattern.
local function said(info, name)
  local _, last = string.find(info, '\n' .. name .. ':', 1, true)
  return last and string.match(info, '^[^\r]*', last + 1) or ''
end
-- Whether no log is being written anew, or will be.
local function writes_nothing_anew(info)
  return said(info, 'aof_rewrite_in_progress') == '0' and said(info, 'aof_rewrite_scheduled') == '0'
end
-- Whether every vote is known to be on the disk: '1'; 'lost': it is not, and a disk that says so may be an old one; '0':
-- nobody relies on it.
local function durability(info, disk, before)
  -- Argument S9: a replica copies what is written here, and may be a master of its own one day, with an old disk.
  local has_replicas = (tonumber(said(info, 'connected_slaves')) or 0) > 0
  if disk ~= '0' and disk ~= '2' and said(info, 'aof_enabled') == '1' and not has_replicas then
    -- A log that was turned on is whole when it has been rewritten.
    if before == '1' or disk == '1' and writes_nothing_anew(info) then
      return '1'
    end
  end
  -- Argument S9: whatever was kept. A flush takes with it that the log was relied on, and leaves the old log.
  return disk ~= '0' and 'lost' or '0'
end
-- What INFO says for a look. The last section is needed only by those who trust the disk; a section that is named twice is
-- told once.
local function describe(call, disk)
  return call('INFO', 'server', 'replication', 'memory', 'stats', disk == '0' and 'stats' or 'persistence')
end
-- Looks at the process, by what INFO has just said if that is known, and writes down what the vote needs to know. Returns
-- why the node must not vote whatever it may have forgotten, or nothing, and what `kept` is then.
local function look(key, kept, now, span, disk, met, info)
  info = info or describe(redis.call, disk)
  local current = said(info, 'run_id') .. '/' .. said(info, 'master_replid')
  local id, why, before = kept[1], kept[3], redis.call('HGET', key, 'evicted')
  local ends = tonumber(kept[2] or '0') or now + tonumber(span)
  -- A policy without a limit evicts nothing.
  local policy = (tonumber(said(info, 'maxmemory')) or 0) > 0 and said(info, 'maxmemory_policy') or ''
  local may_evict = policy ~= 'noeviction' and policy ~= ''
  local count = said(info, 'evicted_keys')
  -- A process begins to count at 0, and so do statistics that were reset.
  local has_evicted = before == 'may' or before and count ~= '0' and (id ~= current or count ~= before)
  -- What the disk kept is all there was, if it got everything then and does now, unless it was another's.
  local trusted = disk == '1' and kept[5] == '1'
  local kept_all = id and trusted and met == current and string.find(info, '\nmaster_replid2:0+\r')
  -- Argument S9: a process without a log has read something else, an old snapshot for instance. If its log was turned on
  -- since, it has begun to write it anew.
  kept_all = kept_all and said(info, 'aof_enabled') == '1' and writes_nothing_anew(info)
    and said(info, 'aof_last_rewrite_time_sec') == '-1'
  local forgot = false
  if id ~= current and not kept_all then
    forgot = id and 'changed' or 'empty'
  elseif has_evicted then
    forgot = 'evicted'
  end
  -- What has to be waited for after a reconfiguration is not shortened by a restart.
  local waits_longer = why == 'reconfigured' and ends > now + tonumber(span)
  if forgot and not waits_longer then
    ends, why = now + tonumber(span), forgot
  end
  local durable, evicted = durability(info, disk, kept[5]), may_evict and 'may' or count
  if id ~= current or forgot or evicted ~= before or durable ~= kept[5] then
    local written = string.format('%.0f', ends)
    why = why or 'empty'
    redis.call('HSET', key, 'id', current, 'until', written, 'why', why, 'evicted', evicted, 'logged', durable)
  end
  local unfit = false
  if said(info, 'role') == 'slave' then
    unfit = 'replica'
  elseif may_evict then
    unfit = 'evicts'
  elseif durable == 'lost' then
    -- A replica that takes over, and restarts before anybody votes on it, has another's disk.
    unfit = (tonumber(said(info, 'connected_slaves')) or 0) > 0 and 'replicated' or 'undurable'
  end
  -- Whoever comes next looks for itself if the node is unfit. Not for replicas, whose clocks may show this millisecond
  -- again.
  redis.set_repl(redis.REPL_NONE)
  redis.call('HSET', key, 'fit', unfit and '' or string.format('%.0f', now))
  redis.set_repl(redis.REPL_ALL)
  return unfit, {current, ends, why}
end
