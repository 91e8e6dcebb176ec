-- KEYS[1] the lock, KEYS[2] the node's own hash or nothing. ARGV[1] owner, ARGV[2] TTL in ms, ARGV[3] configuration.
-- 'granted - ' and the time in s and us; {0, holder, PTTL, time}: refused; {-2, configuration, its text, time}: of another
-- configuration. Nothing can fail behind a write, so an error means that the key was not touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
if KEYS[2] then
  local cfg = redis.call('HGET', KEYS[2], 'cfg')
  if cfg and cfg ~= ARGV[3] then
    return {-2, cfg, redis.call('HGET', KEYS[2], 'about'), us}
  end
end
local holder = redis.pcall('GET', KEYS[1])
-- Argument S3: the comparison and the change are one step.
if holder == ARGV[1] then
  -- Argument S7: a key that lives longer already is left as it is. One without a TTL (-1) gets one.
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 'granted - ' .. clock[1] .. ' ' .. clock[2]
end
return refuse(holder, us)
