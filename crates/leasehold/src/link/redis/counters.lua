-- All counters of the node, as text; '0' where there is none.
local function counters(key)
  local fields = {}
  for number = 0, 1023 do
    fields[number + 1] = 'f' .. number
  end
  local found = redis.call('HMGET', key, unpack(fields))
  for place = 1, 1024 do
    found[place] = found[place] or '0'
  end
  return found
end
