-- KEYS[1] the lock, ARGV[1] the new owner, ARGV[2] TTL in ms, ARGV[3] the owner from whom it is taken
-- over. 'granted'; {0, holder, PTTL}: refused; {-3}: it has voted under another address.
-- Nothing can fail behind a write, so an error means that the key was not touched.
local holder = redis.pcall('GET', KEYS[1])
-- Argument S1: nothing is sent twice, so it has come to a server that has voted already. One server, one vote.
if holder == ARGV[1] then
  return {-3}
end
-- Argument S3: the comparison and the change are one step.
if holder == ARGV[3] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 'granted'
end
return refuse(holder)
