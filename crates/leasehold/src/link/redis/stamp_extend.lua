-- KEYS[1] the lock, ARGV[1] the caller's time, ARGV[2] the new end, both in Unix seconds; ARGV[3 …] the values that the
-- key may carry if it is ours.
-- {1, value}: extended, and this is the end; {2}: ours, but over; {0, value}: another value; {0}: no key.
-- Nothing can fail behind the write, so an error means that the key was not touched.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then
  local failed, found = other(value)
  return failed or {0, found}
end
if not value then
  return {0}
end
for i = 3, #ARGV do
  if value == ARGV[i] then
    -- Whoever has seen that it is over may take it now.
    if tonumber(ARGV[1]) > tonumber(value) then
      return {2}
    end
    if tonumber(ARGV[2]) <= tonumber(value) then
      return {1, value}
    end
    redis.call('SET', KEYS[1], ARGV[2])
    return {1, ARGV[2]}
  end
end
return {0, string.sub(value, 1, 32)}
