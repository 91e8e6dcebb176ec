#!lua flags=no-writes
-- KEYS locks. For each {} if there is none, {value, PTTL} with an empty PTTL if it lives for ever, {0} if it is no text.
local found = {}
for place, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  if type(value) == 'string' then
    local left = redis.call('PTTL', key)
    found[place] = {value, left < 0 and '' or tostring(left)}
  elseif value then
    found[place] = {0}
  else
    found[place] = {}
  end
end
return found
