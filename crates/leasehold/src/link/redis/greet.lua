-- KEYS[1] the node's own hash. ARGV[1] quarantine in ms or 'off', ARGV[2] what clients rely on the disk for, ARGV[3]
-- configuration, ARGV[4] its text, ARGV[5] the number of the failover by which it is the master, if sentinels say so.
-- Begins the quarantine where one is due, so that it runs before the first lock is wanted.
-- {what INFO says, configuration, its text, for how many ms the node does not vote, why}.
local info = describe(redis.pcall, ARGV[2])
if type(info) == 'table' then
  -- Without the guard nobody needs to know.
  if ARGV[1] ~= 'off' then
    return info
  end
  info = ''
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kept = redis.call('HMGET', KEYS[1], 'id', 'until', 'why', 'fit', 'logged', 'cfg', 'about')
if kept[6] and kept[6] ~= ARGV[3] then
  return {info, kept[6], kept[7], 0, false}
end
local left, why = 0, false
if ARGV[1] ~= 'off' then
  -- A made-up value is one digit, again and again. Who hides what the guard compares is refused, and keeps no trace of that.
  local function is_told(name)
    local value = said(info, name)
    return string.gsub(value, string.sub(value, 1, 1), '') ~= ''
  end
  if not is_told('run_id') or not is_told('master_replid') or said(info, 'maxmemory') == '' then
    return {info, ARGV[3], ARGV[4], 0, false}
  end
  local met = said(info, 'run_id') .. '/' .. said(info, 'master_replid')
  left, why = abstains(KEYS[1], kept, now, ARGV[1], ARGV[2], met, info)
  -- Argument S9: who looked before may have been told of an earlier failover, and the last lease of the master that was
  -- replaced may have been granted since.
  if ARGV[5] and redis.call('HGET', KEYS[1], 'failover') ~= ARGV[5] then
    redis.call('HSET', KEYS[1], 'failover', ARGV[5])
    local span = tonumber(ARGV[1])
    if (tonumber(redis.call('HGET', KEYS[1], 'until')) or 0) < now + span then
      redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now + span), 'why', 'changed')
      if left < span then
        left, why = span, 'changed'
      end
    end
  end
end
if not kept[7] then
  redis.call('HSET', KEYS[1], 'cfg', ARGV[3], 'about', ARGV[4])
end
return {info, ARGV[3], ARGV[4], left, why}
