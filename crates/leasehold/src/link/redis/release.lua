-- KEYS[1…n] the locks, ARGV[1…n] their owners, ARGV[n + 1] how long the keys shall still live in ms, or nothing.
-- For each lock 'granted'; {0, holder, PTTL}: refused; an error. One lock's answer stands alone.
-- Nothing can fail as a whole behind a write, so an error for all means that no key was touched.
-- Nothing for a key of another type, too, which is another program's lock.
local holders, keep, ours = redis.call('MGET', unpack(KEYS)), ARGV[#KEYS + 1], {}
for lock, key in ipairs(KEYS) do
  -- Argument S3: the comparison and the change are one step.
  if holders[lock] == ARGV[lock] then
    ours[#ours + 1] = key
    if keep then
      redis.call('PEXPIRE', key, keep)
    end
  end
end
if ours[1] and not keep then
  redis.call('DEL', unpack(ours))
end
local answers = {}
for lock, key in ipairs(KEYS) do
  local answer = 'granted'
  if holders[lock] ~= ARGV[lock] then
    -- An error is this lock's alone: the keys of others are gone by now.
    local left = redis.pcall('PTTL', key)
    answer = type(left) == 'table' and left or {0, holders[lock], left}
  end
  answers[lock] = answer
end
return #KEYS == 1 and answers[1] or answers
