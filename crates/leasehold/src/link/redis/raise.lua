-- KEYS[1] the lock, KEYS[2] the node's own hash. ARGV[1] owner, ARGV[2] the counter, ARGV[3] the token that it shall
-- be, ARGV[4] configuration. 'granted': it is; {0, holder, PTTL}: refused; {-2, configuration, its text, time in us}: of
-- another configuration, which has taken the counters over already.
local cfg = redis.call('HGET', KEYS[2], 'cfg')
if cfg and cfg ~= ARGV[4] then
  local clock = redis.call('TIME')
  return {-2, cfg, redis.call('HGET', KEYS[2], 'about'), clock[1] * 1000000 + clock[2]}
end
local holder = redis.pcall('GET', KEYS[1])
-- Arguments S3 and S4: only the owner raises, or the counter of a later owner would be raised to an earlier token.
if holder == ARGV[1] then
  local counter, token = tonumber(redis.call('HGET', KEYS[2], ARGV[2]) or '0'), tonumber(ARGV[3])
  -- Argument S4: it may be a later holder's, after whom a request that arrived twice has set our key again.
  if counter > token then
    return redis.error_reply("BEYOND the node's counter is beyond the token")
  end
  if counter < token then
    redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
  end
  return 'granted'
end
return refuse(holder)
