-- KEYS[1] the lock, KEYS[2] the node's own hash. ARGV[1] owner, ARGV[2] TTL in ms, ARGV[3] the proposal for the
-- counter or nothing, ARGV[4] the counter, ARGV[5] quarantine in ms or 'off', ARGV[6] configuration,
-- ARGV[7] from whom the key is taken over or nothing; of the connection: ARGV[8] what clients rely on the disk
-- for, ARGV[9] the process that the client met.
-- 'granted', the counter or '-', the time in s and us; {0, holder, PTTL, time}: refused; {-1, why, ms, time}: abstained;
-- {-2, configuration, its text, time}: of another configuration; {-3, time}: it has voted under another address.
-- Nothing can fail between the counter and the key, so an error means that the key was not touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now = math.floor(us / 1000)
local kept = redis.call('HMGET', KEYS[2], 'id', 'until', 'why', 'fit', 'logged', 'cfg', ARGV[4])
if kept[6] and kept[6] ~= ARGV[6] then
  return {-2, kept[6], redis.call('HGET', KEYS[2], 'about'), us}
end
-- Argument S9: a node that may have forgotten a vote does not vote.
if ARGV[5] ~= 'off' then
  local left, why = abstains(KEYS[2], kept, now, ARGV[5], ARGV[8], ARGV[9])
  if left > 0 then
    return {-1, why, left, us}
  end
end
if not kept[6] then
  redis.call('HSET', KEYS[2], 'cfg', ARGV[6])
end
local holder = redis.pcall('GET', KEYS[1])
-- Argument S3: the comparison and the change are one step.
local ours, free = holder == ARGV[1], not holder
if ARGV[7] ~= '' then
  free = holder == ARGV[7]
end
