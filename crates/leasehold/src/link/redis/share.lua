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
-- Whether a sorted set is of those who read, of whom the last share ends then: the key ends with it, as no other program's
-- does.
local function ends_with(key, last, now)
  return math.abs(now + redis.call('PTTL', key) - last) < 1000
end
-- The slot of a permit and how many there are, which its owner tells; nothing if it is of another kind.
local function permit_of(owner)
  local slot, of = string.match(owner, '^%+permit(%d%d?%d?)/(%d%d?%d?)%.', 41)
  if not of or string.find(string.sub(owner, 1, 40), '%X') then
    return nil, nil
  end
  local number, count = tonumber(slot), tonumber(of)
  -- Without zeros before it.
  if tostring(number) ~= slot or tostring(count) ~= of or number >= count or count > 256 then
    return nil, nil
  end
  return number, count
end
-- The owner that has the name itself, nothing if nobody has, or the error of a key that is no lock; and of its parts, when the
-- last ends and of how many permits it is, if anybody has any.
local function reading(key, now)
  local holder = redis.pcall('GET', key)
  if not is_of_another_type(holder) then
    return holder, nil, nil
  end
  local told = redis.pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
  if told.err then
    return is_of_another_type(told) and holder or told, nil, nil
  end
  local last = tonumber(told[2])
  if last <= now or not ends_with(key, last, now) then
    return holder, nil, nil
  end
  local _, of = permit_of(told[1])
  return false, last, of
end
-- All who have parts of a name that have not ended; of a permit, with its slot and how many there are.
local function parts_of(key, now)
  local told, parts = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
  for place = 1, #told, 2 do
    local left = tonumber(told[place + 1]) - now
    if left > 0 then
      local slot, of = permit_of(told[place])
      parts[#parts + 1] = {owner = told[place], slot = slot, of = of, left = left}
    end
  end
  return parts
end
-- Whether `owner` may have a part beside them, of whom `former` goes. Argument S3: a slot has one owner at a time, and all say
-- the same of how many there are: with another number, some of theirs would be slots that it does not look at.
local function may_stand_beside(parts, owner, former)
  local slot, of = permit_of(owner)
  for _, part in ipairs(parts) do
    if part.owner ~= former and (part.of ~= of or of and part.slot == slot) then
      return false
    end
  end
  return true
end
-- How a refusal tells of permits, of which there are so many: {4, how many, 'slot ms …' of each that is taken}.
local function told_of(parts, of)
  local texts = {}
  for _, part in ipairs(parts) do
    if part.of == of then
      texts[#texts + 1] = string.format('%d %.0f', part.slot, part.left)
    end
  end
  return {4, of, table.concat(texts, ' ')}
end
local function refuse_part(holder, told, us)
  if told then
    told[4] = us
    return told
  end
  return refuse(holder, us)
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
