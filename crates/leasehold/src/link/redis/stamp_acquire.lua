-- KEYS[1] the lock, ARGV[1] the caller's time, ARGV[2] the end of its lease, both in Unix seconds.
-- {1}: granted; {0, value}: held until then; {-1, what is there}: no timestamp, and left as it is.
-- Nothing can fail behind the write, so an error means that the key was not touched.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then
  local failed, found = other(value)
  return failed or {-1, found}
end
if value then
  -- From 2001 on. A small number is somebody's counter rather than a lock of 1970, and a longer one is milliseconds.
  if not string.find(value, '^[1-9]%d%d%d%d%d%d%d%d%d%d?$') then
    return {-1, string.format('the value "%s"', string.sub(value, 1, 32))}
  end
  if tonumber(ARGV[1]) <= tonumber(value) then
    return {0, value}
  end
end
-- Argument T1: looking and taking are one step, so whoever comes second finds the end that the first has written.
redis.call('SET', KEYS[1], ARGV[2])
return {1}
