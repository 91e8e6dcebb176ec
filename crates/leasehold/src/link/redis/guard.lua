-- The restart guard. `key` is the node's own hash, `kept` what it has of `id`, `until`, `why`, `seen` and `durable`; `now` the
-- time in ms, `span` the quarantine in ms, `trusts` whether a restart alone forgets nothing, `met` the process that
-- the client met when it connected. Returns for how many ms the node does not vote, and why.
local function abstains(key, kept, now, span, trusts, met)
  local id, why, seen = kept[1], kept[3], kept[4]
  local ends = tonumber(kept[2] or '0') or now + tonumber(span)
  -- Argument S9: no process dies, starts again, loads and serves within the millisecond in which it was looked at;
  -- and one that a client met under another identity is looked at in any case.
  if seen ~= string.format('%.0f', now) or id ~= met then
    local info = redis.call('INFO', 'server', 'replication')
    -- Searching for a plain text is many times faster than for a pattern.
    local function said(name)
      local _, last = string.find(info, name, 1, true)
      return last and string.match(info, '^%x+', last + 1) or ''
    end
    local current = said('run_id:') .. '/' .. said('master_replid:')
    if id ~= current then
      -- What the disk kept is all there was, if it got everything then and does now, unless it was another's.
      local trusted = trusts == '1' and kept[5] == '1'
      local kept_all = id and trusted and met == current and string.find(info, 'master_replid2:0+\r')
      -- What has to be waited for after a reconfiguration is not shortened by a restart.
      local waits_longer = why == 'reconfigured' and ends > now + tonumber(span)
      if not kept_all and not waits_longer then
        ends, why = now + tonumber(span), id and 'changed' or 'empty'
      end
      redis.call('HSET', key, 'id', current, 'until', string.format('%.0f', ends), 'why', why or 'empty')
    end
    -- Not for replicas, whose clocks may show this millisecond again.
    redis.set_repl(redis.REPL_NONE)
    redis.call('HSET', key, 'seen', string.format('%.0f', now))
    redis.set_repl(redis.REPL_ALL)
  end
  -- A clock that was set back would make it wait for as long.
  local longest = tonumber(span)
  if ends - now > longest then
    -- The configuration before may have had a longer quarantine than ours: what its reconfiguration wrote counts.
    if why == 'reconfigured' then
      longest = math.max(longest, noted_wait(redis.call('HGET', key, 'wait'), ends))
    end
    ends = math.min(ends, now + longest)
    redis.call('HSET', key, 'until', string.format('%.0f', ends))
  end
  return ends - now, why
end
