-- Of one part of a name, or of several. KEYS[1] the name, KEYS[2] the node's own hash, KEYS[3] the queue. ARGV[1] 'acquire',
-- 'repair' or 'transfer', the latter two of one alone; ARGV[2] quarantine in ms or 'off', ARGV[3] configuration; of the
-- connection: ARGV[4] what clients rely on the disk for, ARGV[5] the process that the client met; and for each part: owner, TTL
-- in ms, the proposal for the ticket, and for the counter, or nothing, who asks and its ticket, or nothing, the counter of a
-- permit's slot, nothing for a share, and from whom a part, or the name, is taken over or nothing.
-- What each is told, one alone without a list: 'granted', the counter or '-', the time in s and us; {0, holder, PTTL, time}:
-- refused, as with a fair lock; {2, ms, time, ticket, how many come before}: likewise; {4, how many permits there are, 'slot ms …'
-- of those that are taken, time}: likewise, and as there with ticket and how many come before; {-3, time}: it has voted under
-- another address; an error. Instead, for all of them: {-1, why, ms, time}: abstained; {-2, configuration, its text, time}: of
-- another configuration.
-- An error means that the key was not touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now = math.floor(us / 1000)
local verb, fields = ARGV[1], {}
for at = 11, #ARGV, 7 do
  -- Of those who read no grant is counted.
  if ARGV[at] ~= '' then
    fields[#fields + 1] = ARGV[at]
  end
end
local kept = redis.call('HMGET', KEYS[2], 'id', 'until', 'why', 'fit', 'logged', 'cfg', unpack(fields))
if kept[6] and kept[6] ~= ARGV[3] then
  return {-2, kept[6], redis.call('HGET', KEYS[2], 'about'), us}
end
-- Argument S9: a node that may have forgotten a vote does not vote.
if ARGV[2] ~= 'off' then
  local left, why = abstains(KEYS[2], kept, now, ARGV[2], ARGV[4], ARGV[5])
  if left > 0 then
    return {-1, why, left, us}
  end
end
if not kept[6] then
  redis.call('HSET', KEYS[2], 'cfg', ARGV[3])
end
local holder, last, of = reading(KEYS[1], now)
-- What is there, and what this call adds to it: it is written at the end, and counts for those that come later in the call.
local stood, owners, former = last, nil, nil
local shares, ends, counters, grown = {}, 0, {}, {}
for number, field in ipairs(fields) do
  counters[field] = kept[number + 6]
end
local function all_owners()
  if not owners then
    owners = owners_of(KEYS[1], now)
    for place = 2, #shares, 2 do
      owners[#owners + 1] = shares[place]
    end
  end
  return owners
end
local time = ' ' .. clock[1] .. ' ' .. clock[2]
local queue = redis.call('GET', KEYS[3]) or ''
local lined_up, line_up, keep = queue, nil, nil
-- The answer to the request whose owner is ARGV[at].
local function vote(at)
  local owner, ttl, proposal, who, ticket, field, from = unpack(ARGV, at, at + 6)
  local ours, wrong = nil, nil
  if stood then
    ours, wrong = share_of(KEYS[1], owner, now)
  end
  if stood and from ~= '' and not wrong then
    former, wrong = share_of(KEYS[1], from, now)
  end
  if wrong then
    return wrong
  end
  -- Argument S1: as with a vote for the name itself.
  if ours and verb ~= 'repair' then
    return {-3, us}
  end
  -- Argument S3: nobody has a part of what somebody has for itself, and the comparison and the change are one step.
  local free = not holder
  if from ~= '' then
    free = former or holder == from
  end
  -- Where nobody has a permit or wants one, nobody need look at all who read.
  local _, wanted = permit_of(owner)
  local told, others = nil, 0
  if last and (of or wanted) then
    others = #all_owners()
    free = free and (ours or may_stand_beside(owners, owner, from))
    told = of and function()
      return told_of(KEYS[1], of, shares, now)
    end
  end
  -- As many as there are permits left are next at the same time. Where nobody waits, nobody comes before.
  local permits, refused = wanted or 1, nil
  local is_next = free and lined_up == '' and permits > others
  if who ~= '' and not is_next then
    line_up, keep = lining_up()
    refused, lined_up =
      line_up(lined_up, who, ticket, proposal, holder, free, last, now, us, permits, permits - others, told)
  elseif not free then
    refused = refuse_part(holder, told and told(), us)
  end
  if refused then
    return refused
  end
  local counter = '-'
  if field ~= '' and proposal ~= '' then
    counter = counters[field]
    -- A repair that finds its permit does not count again.
    if not (ours and counter) then
      -- Argument S4: larger than every grant before it, and not below the proposal, unless that is from far in the future.
      local proposed = tonumber(proposal)
      local larger = math.max((tonumber(counter or '0') or 9007199254740991) + 1, math.min(proposed, us + 1000000))
      -- Not the other way round: what is no number is not above it either.
      if not (larger <= 9007199254740991) then
        return redis.error_reply("EXHAUSTED the node's counter has come to its end")
      end
      -- A plain conversion would round to 14 digits.
      counter = larger == proposed and proposal or string.format('%d', larger)
      -- Argument S4: several slots may have it in common.
      counters[field] = counter
      grown[#grown + 1], grown[#grown + 2] = field, counter
    end
  end
  -- A repair may find its part, which an earlier one has set. That one's end is the one that counts.
  if not ours then
    local its = now + ttl
    shares[#shares + 1], shares[#shares + 2] = string.format('%d', its), owner
    ends, last, of = math.max(ends, its), math.max(last or 0, its), of or wanted
    if owners then
      owners[#owners + 1] = owner
    end
  end
  return 'granted ' .. counter .. time
end
local answers = {}
for at = 6, #ARGV, 7 do
  local answer = vote(at)
  if shares[1] and answer[1] == 0 then
    -- By the key as it will be.
    answer[3] = last - now
  end
  answers[#answers + 1] = answer
end
if keep then
  keep(KEYS[3], lined_up, queue)
end
-- Argument S4: the counters before the key.
if grown[1] then
  redis.call('HSET', KEYS[2], unpack(grown))
end
if shares[1] then
  local owner, from = shares[2], ARGV[12]
  if from ~= '' and not former then
    -- Who may not write parts, or end them, must not lose the name by it.
    local tried = redis.pcall('ZADD', KEYS[1], 0, owner)
    if not is_of_another_type(tried) then
      return tried
    end
    redis.call('PEXPIREAT', KEYS[1], string.format('%d', math.max(ends, now + redis.call('PTTL', KEYS[1]))))
    redis.call('DEL', KEYS[1])
  end
  if former then
    -- Who may not take a part away must not put another beside it. The new owner has none that has not ended.
    redis.call('ZREM', KEYS[1], owner)
  end
  share_until(KEYS[1], shares, ends, stood, now)
  if former then
    redis.call('ZREM', KEYS[1], from)
    end_with_last(KEYS[1], math.max(stood, ends))
  end
end
return #answers == 1 and answers[1] or answers
