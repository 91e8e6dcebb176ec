-- Those who have shares of a name stand in its own key, a sorted set: each owner, with the millisecond in which its share
-- ends. So the key is there while anybody reads, and all who lock the name itself are refused by it, whatever they know of
-- shares. The key ends with the last of them.
local function last_end(key)
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  return tonumber(last[2] or nil)
end
local function is_of_another_type(told)
  return type(told) == 'table' and told.err and string.find(told.err, 'WRONGTYPE', 1, true)
end
-- Whether a sorted set is of those who read, of whom the last share ends then: the key ends with it, as no other program's
-- does.
local function ends_with(key, last, now)
  return math.abs(now + redis.call('PTTL', key) - last) < 1000
end
-- The owner that has the name itself, nothing if nobody has, or the error of a key that is no lock; and when the last share
-- ends, if it is read.
local function reading(key, now)
  local holder = redis.pcall('GET', key)
  if not is_of_another_type(holder) then
    return holder, nil
  end
  local told = redis.pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
  if told.err then
    return is_of_another_type(told) and holder or told, nil
  end
  local last = tonumber(told[2])
  if last <= now or not ends_with(key, last, now) then
    return holder, nil
  end
  return false, last
end
-- When the share of `owner` ends; nothing if it has none, or the error of a key that has no shares.
local function share_of(key, owner, now)
  local ends = redis.pcall('ZSCORE', key, owner)
  if type(ends) == 'table' then
    return nil, ends
  end
  ends = tonumber(ends or nil)
  return ends and ends > now and ends
end
-- Lets the share of `owner` end then, where the last of all ends at `last`, or nobody reads. Argument S7: no other is cut
-- short by it, or lives on. The key gets its end before as well: who may not give it one must not leave a key that never ends.
-- And behind, since it may have ended in the meantime, on a server that looks at its clock again.
local function share_until(key, owner, ends, last, now)
  if last then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  end
  local whole = string.format('%.0f', math.max(ends, last or 0))
  redis.call('PEXPIREAT', key, whole)
  redis.call('ZADD', key, string.format('%.0f', ends), owner)
  if ends > (last or 0) then
    redis.call('PEXPIREAT', key, whole)
  end
end
-- A share that ended at `ended` is gone, or ends before.
local function end_with_last(key, ended)
  local last = last_end(key)
  if last and last < ended then
    redis.call('PEXPIREAT', key, string.format('%.0f', last))
  end
end
