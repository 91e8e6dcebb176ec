-- Sets the key if there is none. A key that carries this owner already was set by this very request.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
  holder = false -- a key of another type: somebody else's, and no lock of this kind
end
if holder == ARGV[1] then
  return 1
end
return {redis.call('PTTL', KEYS[1]), holder}
