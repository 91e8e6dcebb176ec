-- What all who have parts of a name tell together.
-- Whether a sorted set is of those who read, of whom the last share ends then: the key ends with it, as no other program's
-- does.
local function ends_with(key, last, now)
  return math.abs(now + redis.call('PTTL', key) - last) < 1000
end
-- The slot of a permit and how many there are, which its owner tells; nothing if it is of another kind.
local function permit_of(owner)
  local slot, of = string.match(owner, '^%+permit(%d%d?%d?)/([1-9]%d?%d?)%.', 41)
  if not of or select(2, string.find(owner, '^%x*')) ~= 40 then
    return nil, nil
  end
  local number, count = tonumber(slot), tonumber(of)
  -- Without zeros before it.
  if number >= count or count > 256 or #slot > 1 and string.byte(slot) == 48 then
    return nil, nil
  end
  return number, count
end
-- The owner that has the name itself, nothing if nobody has, or the error of a key that is no lock; and of its parts, when the
-- last ends and of how many permits it is, if anybody has any.
local function reading(key, now)
  local told = redis.pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
  if is_of_another_type(told) then
    return redis.pcall('GET', key), nil, nil
  elseif told.err then
    return told, nil, nil
  elseif not told[1] then
    return false, nil, nil
  end
  local last = tonumber(told[2])
  if last <= now or not ends_with(key, last, now) then
    return redis.error_reply('WRONGTYPE a set of another program'), nil, nil
  end
  local _, of = permit_of(told[1])
  return false, last, of
end
-- All who have parts of a name that have not ended.
local function owners_of(key, now)
  return redis.call('ZRANGE', key, string.format('(%d', now), '+inf', 'BYSCORE')
end
-- Whether `owner` may have a part beside those of `owners`, of whom `former` goes. Argument S3: a slot has one owner at a time,
-- and all say the same of how many there are: with another number, some of theirs would be slots that it does not look at.
local function may_stand_beside(owners, owner, former)
  local slot, of = permit_of(owner)
  for _, other in ipairs(owners) do
    local its, count = permit_of(other)
    if other ~= former and (count ~= of or of and its == slot) then
      return false
    end
  end
  return true
end
-- How a refusal tells of permits, of which there are so many: {4, how many, 'slot ms …' of each that is taken}. Behind those that
-- are there come `shares`, each an end and an owner, which are about to be.
local function told_of(key, of, shares, now)
  local texts = {}
  local function tell(owner, ends)
    local slot, count = permit_of(owner)
    if ends > now and count == of then
      texts[#texts + 1] = string.format('%d %d', slot, ends - now)
    end
  end
  local there = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for place = 1, #there, 2 do
    tell(there[place], tonumber(there[place + 1]))
  end
  for place = 1, #shares, 2 do
    tell(shares[place + 1], tonumber(shares[place]))
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
-- Sets these shares, each an end and an owner, of which the last ends at `ends`, where the last of all ends at `last`, or nobody
-- reads. Argument S7: no other is cut short by it, or lives on. The key gets its end before as well: who may not give it one
-- must not leave a key that never ends. And behind, since it may have ended in the meantime, on a server that looks at its clock
-- again.
local function share_until(key, shares, ends, last, now)
  if last then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%d', now))
  end
  local whole = string.format('%d', math.max(ends, last or 0))
  redis.call('PEXPIREAT', key, whole)
  redis.call('ZADD', key, unpack(shares))
  if ends > (last or 0) then
    redis.call('PEXPIREAT', key, whole)
  end
end
