-- KEYS[1] the lock, KEYS[2] the node's own hash or nothing. ARGV[1] owner, ARGV[2] TTL in ms, ARGV[3] configuration,
-- ARGV[4] quarantine in ms or 'off'; of the connection: ARGV[5] what clients rely on the disk for, ARGV[6] the process that
-- the client met.
-- 'granted - ' and the time in s and us; {0, holder, PTTL, time}: refused; {-1, why, ms, time}: abstained;
-- {-2, configuration, its text, time}: of another configuration.
-- Nothing can fail behind a write to the lock, so an error means that the key was not touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
if KEYS[2] then
  local kept = redis.call('HMGET', KEYS[2], 'id', 'until', 'why', 'fit', 'logged', 'cfg')
  if kept[6] and kept[6] ~= ARGV[3] then
    return {-2, kept[6], redis.call('HGET', KEYS[2], 'about'), us}
  end
  -- Argument S9: a key that may vanish is nothing to rely upon. What the node may have forgotten is none of it: the key
  -- is there or not.
  if ARGV[4] ~= 'off' then
    local unfit = attest(KEYS[2], kept, math.floor(us / 1000), ARGV[4], ARGV[5], ARGV[6])
    if unfit then
      return {-1, unfit, tonumber(ARGV[4]), us}
    end
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
