-- KEYS[1] the name, KEYS[2] the node's own hash, KEYS[3] the queue. ARGV[1] owner, ARGV[2] TTL in ms, ARGV[3] the proposal for
-- the ticket, and for the counter, or nothing, ARGV[4] 'acquire', 'repair' or 'transfer', ARGV[5] quarantine in ms or 'off',
-- ARGV[6] configuration, ARGV[7] from whom a part, or the name, is taken over or nothing; of the connection: ARGV[8] what clients
-- rely on the disk for, ARGV[9] the process that the client met; ARGV[10] who asks and ARGV[11] its ticket, or nothing; ARGV[12]
-- the counter of a permit's slot, nothing for a share.
-- 'granted', the counter or '-', the time in s and us; {0, holder, PTTL, time}: refused, as with a fair lock; {2, ms, time,
-- ticket, how many come before}: likewise; {4, how many permits there are, 'slot ms …' of those that are taken, time}: likewise,
-- and as there with ticket and how many come before; {-1, why, ms, time}: abstained; {-2, configuration, its text, time}: of
-- another configuration; {-3, time}: it has voted under another address.
-- An error means that the key was not touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now = math.floor(us / 1000)
local kept = redis.call('HMGET', KEYS[2], 'id', 'until', 'why', 'fit', 'logged', 'cfg', ARGV[12])
if kept[6] and kept[6] ~= ARGV[6] then
  return {-2, kept[6], redis.call('HGET', KEYS[2], 'about'), us}
end
-- Argument S9: a node that may have forgotten a vote does not vote.
if ARGV[5] ~= 'off' then
  local left, why = abstains(KEYS[2], kept, now, ARGV[5], ARGV[8], ARGV[9])
  if left > 0 then
    return {-1, why, left, us}
  end
end
if not kept[6] then
  redis.call('HSET', KEYS[2], 'cfg', ARGV[6])
end
local holder, last, of = reading(KEYS[1], now)
local ours, former, wrong = nil, nil, nil
if last then
  ours, wrong = share_of(KEYS[1], ARGV[1], now)
end
if last and ARGV[7] ~= '' and not wrong then
  former, wrong = share_of(KEYS[1], ARGV[7], now)
end
if wrong then
  return wrong
end
-- Argument S1: as with a vote for the name itself.
if ours and ARGV[4] ~= 'repair' then
  return {-3, us}
end
-- Argument S3: nobody has a part of what somebody has for itself, and the comparison and the change are one step.
local free = not holder
if ARGV[7] ~= '' then
  free = former or holder == ARGV[7]
end
-- Where nobody has a permit or wants one, nobody need look at all who read.
local _, wanted = permit_of(ARGV[1])
local parts, told = {}, nil
if last and (of or wanted) then
  parts = parts_of(KEYS[1], now)
  free = free and (ours or may_stand_beside(parts, ARGV[1], ARGV[7]))
  told = of and told_of(parts, of)
end
if ARGV[10] ~= '' then
  -- As many as there are permits left are next at the same time.
  local permits = wanted or 1
  local refused = line_up(holder, free, last, now, us, permits, permits - #parts, told)
  if refused then
    return refused
  end
elseif not free then
  return refuse_part(holder, told, us)
end
-- Of those who read no grant is counted.
local counter = '-'
if ARGV[12] ~= '' and ARGV[3] ~= '' then
  counter = kept[7]
  -- A repair that finds its permit does not count again.
  if not (ours and counter) then
    -- Argument S4: larger than every grant before it, and not below the proposal, unless that is from far in the future.
    local proposed = tonumber(ARGV[3])
    local grown = math.max((tonumber(counter or '0') or 9007199254740991) + 1, math.min(proposed, us + 1000000))
    -- Not the other way round: what is no number is not above it either.
    if not (grown <= 9007199254740991) then
      return redis.error_reply("EXHAUSTED the node's counter has come to its end")
    end
    -- A plain conversion would round to 14 digits.
    counter = grown == proposed and ARGV[3] or string.format('%.0f', grown)
    -- Argument S4: the counter before the key.
    redis.call('HSET', KEYS[2], ARGV[12], counter)
  end
end
local ends = now + ARGV[2]
if ARGV[7] ~= '' and not former then
  -- Who may not write parts, or end them, must not lose the name by it.
  local tried = redis.pcall('ZADD', KEYS[1], 0, ARGV[1])
  if not is_of_another_type(tried) then
    return tried
  end
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.max(ends, now + redis.call('PTTL', KEYS[1]))))
  redis.call('DEL', KEYS[1])
end
if former then
  -- Who may not take a part away must not put another beside it. The new owner has none that has not ended.
  redis.call('ZREM', KEYS[1], ARGV[1])
end
-- A repair may find its part, which an earlier one has set. That one's end is the one that counts.
if not ours then
  share_until(KEYS[1], ARGV[1], ends, last, now)
end
if former then
  redis.call('ZREM', KEYS[1], ARGV[7])
  end_with_last(KEYS[1], math.max(last, ends))
end
return 'granted ' .. counter .. ' ' .. clock[1] .. ' ' .. clock[2]
