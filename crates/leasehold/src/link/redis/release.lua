-- KEYS[1…n] the locks, ARGV[1…n] their owners; of one lock alone ARGV[2] how long the key shall still live in ms, or nothing.
-- For each lock 'granted'; {0, holder, PTTL}: refused; an error. One lock's answer stands alone, and so does 'granted' for all.
-- Nothing can fail as a whole behind a write, so an error for all means that no key was touched.
-- One alone needs no lists.
if #KEYS == 1 then
  -- Argument S3: the comparison and the change are one step.
  if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
    -- Nothing for a key of another type, too, which is another program's lock.
    return {0, redis.call('MGET', KEYS[1])[1], redis.call('PTTL', KEYS[1])}
  end
  if ARGV[2] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  else
    redis.call('DEL', KEYS[1])
  end
  return 'granted'
end
local holders = redis.call('MGET', unpack(KEYS))
local ours, answers = {}, {}
for lock, key in ipairs(KEYS) do
  -- Argument S3: likewise.
  if holders[lock] == ARGV[lock] then
    ours[#ours + 1] = key
  end
end
if ours[1] then
  redis.call('DEL', unpack(ours))
end
if #ours == #KEYS then
  return 'granted'
end
for lock, key in ipairs(KEYS) do
  local answer = 'granted'
  if holders[lock] ~= ARGV[lock] then
    -- An error is this lock's alone: the keys of others are gone by now.
    local left = redis.pcall('PTTL', key)
    answer = type(left) == 'table' and left or {0, holders[lock], left}
  end
  answers[lock] = answer
end
return answers
