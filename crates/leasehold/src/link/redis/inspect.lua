#!lua flags=no-writes
-- KEYS[1] the lock. 1: there is none; {holder or nil, PTTL}: there is one.
-- Declared as one that writes nothing, so that a node may answer that has no memory left.
local holder = redis.pcall('GET', KEYS[1])
if not holder then
  return 1
end
if type(holder) == 'table' then
  -- Another type of key is another program's lock. Every other error is the server's.
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then
    return holder
  end
  holder = false
end
return {holder, redis.call('PTTL', KEYS[1])}
