-- KEYS[1] the lock, ARGV[1] owner, ARGV[2] how long the key shall still live in ms, or nothing.
-- 'granted'; {0, holder, PTTL}: refused.
-- Nothing can fail behind a write, so an error means that the key was not touched.
local holder = redis.pcall('GET', KEYS[1])
-- Argument S3: the comparison and the change are one step.
if holder == ARGV[1] then
  if ARGV[2] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  else
    redis.call('DEL', KEYS[1])
  end
  return 'granted'
end
return refuse(holder)
