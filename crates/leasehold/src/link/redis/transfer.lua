-- KEYS[1] the lock, ARGV[1] the new owner, ARGV[2] TTL in ms, ARGV[3] the owner from whom it is taken
-- over. 'granted'; {0, holder, PTTL}: refused.
-- Nothing can fail behind a write, so an error means that the key was not touched.
local holder = redis.pcall('GET', KEYS[1])
-- Argument S3: the comparison and the change are one step.
if holder == ARGV[3] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 'granted'
end
-- A request that arrives twice changes nothing: the first one's TTL is the one that counts.
if holder == ARGV[1] then
  return 'granted'
end
return refuse(holder)
