-- KEYS[1…n] the names, behind them the node's own hash, or nothing where locks are plain. ARGV[1] owner, ARGV[2] TTL in ms,
-- ARGV[3] the proposal for the counters or nothing, ARGV[4] from whom the keys are taken over or nothing, ARGV[5] 'acquire',
-- 'repair' or 'transfer'; where there is a hash ARGV[6] quarantine in ms or 'off', ARGV[7] configuration; of the connection:
-- ARGV[8] what clients rely on the disk for, ARGV[9] the process that the client met; ARGV[10…] the counters.
-- 'granted', the counter or '-', the time in s and us; {0, holder, PTTL, time}: refused; {-1, why, ms, time}: abstained;
-- {-2, configuration, its text, time}: of another configuration; {-3, time}: it has voted under another address.
-- An error means that no key was touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local names, node, fields, kept = #KEYS, nil, nil, nil
if ARGV[6] then
  names, node, fields = #KEYS - 1, KEYS[#KEYS], {unpack(ARGV, 10)}
  kept = redis.call('HMGET', node, 'id', 'until', 'why', 'fit', 'logged', 'cfg', unpack(fields))
  if kept[6] and kept[6] ~= ARGV[7] then
    return {-2, kept[6], redis.call('HGET', node, 'about'), us}
  end
  -- Argument S9: a node that may have forgotten a vote does not vote.
  if ARGV[6] ~= 'off' then
    local left, why = abstains(node, kept, math.floor(us / 1000), ARGV[6], ARGV[8], ARGV[9])
    if left > 0 then
      return {-1, why, left, us}
    end
  end
  if not kept[6] then
    redis.call('HSET', node, 'cfg', ARGV[7])
  end
end
local holders, ours = redis.call('MGET', unpack(KEYS, 1, names)), 0
for name = 1, names do
  if holders[name] == ARGV[1] then
    ours = ours + 1
  end
end
-- Argument S1: nothing is sent twice, so a first vote that finds its own owner has come, by another address, to a server
-- that has voted already.
local repairs = ARGV[5] == 'repair'
if ours > 0 and not repairs then
  return {-3, us}
end
-- Argument S3: the comparison of all and the change of all are one step.
local refused = refusal(names, holders, us, function(holder)
  if ARGV[4] ~= '' then
    return holder == ARGV[4]
  end
  return not holder or repairs and holder == ARGV[1]
end)
if refused then
  return refused
end
local counter = '-'
if ARGV[3] ~= '' then
  local text, most = largest(kept, 7, names)
  counter = text
  -- A repair that finds all of them there does not count again.
  if ours < names or not text then
    -- Argument S4: larger than every grant before it, and not below the proposal, unless that is from far in the future.
    local wanted = tonumber(ARGV[3])
    local grown = math.max(most + 1, math.min(wanted, us + 1000000))
    -- Not the other way round: what is no number is not above it either.
    if not (grown <= 9007199254740991) then
      return redis.error_reply("EXHAUSTED the node's counter has come to its end")
    end
    -- A plain conversion would round to 14 digits.
    counter = grown == wanted and ARGV[3] or string.format('%.0f', grown)
  end
  -- Argument S4: the counters before the keys.
  raise_all(node, fields, counter)
end
-- Before any key is set, since it may fail.
for name = 1, names do
  -- Argument S7: what lives longer already is left as it is.
  if holders[name] == ARGV[1] and redis.call('PTTL', KEYS[name]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[name], ARGV[2])
  end
end
-- Nothing fails between the first and the last: a server lets nobody run a script who may not write to all of its keys.
for name = 1, names do
  if holders[name] ~= ARGV[1] then
    redis.call('SET', KEYS[name], ARGV[1], 'PX', ARGV[2])
  end
end
return 'granted ' .. counter .. ' ' .. clock[1] .. ' ' .. clock[2]
