-- KEYS[1] the lock, ARGV[1] the caller's time in Unix seconds, ARGV[2 …] the values that the key may carry if it is ours.
-- {1}: deleted; {2}: ours, but over, and left as it is; {0, value}: another value; {0}: no key.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then
  local failed, found = other(value)
  return failed or {0, found}
end
if not value then
  return {0}
end
for i = 2, #ARGV do
  -- Argument T3: the comparison and the change are one step.
  if value == ARGV[i] then
    -- A key whose time is up is free as it is. A program that has seen so is about to replace it, and some end with an
    -- error if they find none.
    if tonumber(ARGV[1]) >= tonumber(value) then
      return {2}
    end
    redis.call('DEL', KEYS[1])
    return {1}
  end
end
return {0, string.sub(value, 1, 32)}
