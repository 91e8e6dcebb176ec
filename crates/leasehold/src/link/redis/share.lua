-- Those who have parts of a name, which are shares or permits, stand in its own key, a sorted set: each owner, with the
-- millisecond in which its part ends. So the key is there while anybody has one, and all who lock the name itself are refused
-- by it, whatever they know of parts. The key ends with the last of them.
local function last_end(key)
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  return tonumber(last[2] or nil)
end
local function is_of_another_type(told)
  return type(told) == 'table' and told.err and string.find(told.err, 'WRONGTYPE', 1, true)
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
-- A share that ended at `ended` is gone, or ends before.
local function end_with_last(key, ended)
  local last = last_end(key)
  if last and last < ended then
    redis.call('PEXPIREAT', key, string.format('%d', last))
  end
end
