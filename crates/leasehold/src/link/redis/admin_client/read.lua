#!lua flags=no-writes
-- KEYS locks, ARGV[1] the most bytes that an owner has. For each {} if there is none, {value, PTTL} with an empty PTTL if
-- it lives for ever; {0, type, PTTL, holder} if it is no text or a longer one: the type if that is told, and the holder if it
-- is a hash in which Redisson keeps a lock. The type of a set of those who read is 'readers', and of those who have permits
-- 'permits', of which the owners and the ms that are left to them stand in the place of the holder. Other people's data stay on
-- the server.
local function left(key)
  local left = redis.call('PTTL', key)
  return left < 0 and '' or tostring(left)
end
-- Redisson's locks have a field or two; other hashes are not gone through.
local function redisson(key)
  local count = redis.pcall('HLEN', key)
  local fields = type(count) == 'number' and count <= 4 and redis.pcall('HKEYS', key) or {}
  for _, field in ipairs(fields) do
    if #field < 64 and string.match(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
      return field
    end
  end
end
-- The key of those who read, or have permits, ends with the last of them, as no other program's does. Who may not look takes a
-- set that ends for one of those who read. Tells the permits as well, of which there are a few hundred at most.
local function parts(key)
  local last = redis.pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
  local clock, left = redis.call('TIME'), redis.call('PTTL', key)
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  if left <= 0 or not last.err and math.abs(now + left - tonumber(last[2])) >= 1000 then
    return 'zset', nil
  end
  if last.err or not string.find(last[1], '^%x+%+permit%d+/%d+%.') then
    return 'readers', nil
  end
  local all, live = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
  for place = 1, #all, 2 do
    local ms = tonumber(all[place + 1]) - now
    if ms > 0 then
      live[#live + 1], live[#live + 2] = all[place], string.format('%.0f', ms)
    end
  end
  return 'permits', live
end
local found = {}
for place, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  if type(value) == 'string' and #value <= tonumber(ARGV[1]) then
    found[place] = {value, left(key)}
  elseif value then
    local kind, more = redis.pcall('TYPE', key).ok or '', nil
    if kind == 'zset' then
      kind, more = parts(key)
    elseif kind == 'hash' then
      more = redisson(key)
    end
    found[place] = {0, kind, left(key), more}
  else
    found[place] = {}
  end
end
return found
