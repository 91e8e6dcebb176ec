-- KEYS[1] the lock. 'granted': there is none; {0, holder, PTTL}: there is one.
-- Declared as one that writes nothing, so that a node may answer that has no memory left.
local holder = redis.pcall('GET', KEYS[1])
if not holder then
  return 'granted'
end
return refuse(holder)
