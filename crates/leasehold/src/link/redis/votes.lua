-- Of several locks, or of one that brings the text along. KEYS[1…n] the locks, KEYS[n + 1] the node's own hash. ARGV[1]
-- quarantine in ms or 'off', ARGV[2] configuration; of the connection: ARGV[3] what clients rely on the disk for, ARGV[4] the
-- process that the client met; then the owner of each lock, the counter of each, and for each run of locks that have them in
-- common: TTL in ms, the proposal for the counter or nothing, the number of the last of these locks.
-- What each is told: 'granted', the counter or '-', the time in s and us; {0, holder, PTTL, time}: refused; {-3, time}: it
-- has voted under another address; an error. One lock's answer stands alone, and so does a grant that is the same for all.
-- Instead, for all of them: {-1, why, ms, time}: abstained; {-2, configuration, its text, time}: of another configuration.
-- Nothing can fail as a whole once a key is set, so an error for all means that no key was touched.
-- Locals are found faster than globals, and calls of `math` cost more than comparisons.
local KEYS, ARGV = KEYS, ARGV
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now, node, locks = math.floor(us / 1000), KEYS[#KEYS], #KEYS - 1
-- In ARGV the counters stand behind the first of these places, and the runs from the second on.
local counted, runs = locks + 4, 2 * locks + 5
local kept = redis.call('HMGET', node, 'id', 'until', 'why', 'fit', 'logged', 'cfg', unpack(ARGV, counted + 1, runs - 1))
if kept[6] and kept[6] ~= ARGV[2] then
  return {-2, kept[6], redis.call('HGET', node, 'about'), us}
end
-- Argument S9: a node that may have forgotten a vote does not vote.
if ARGV[1] ~= 'off' then
  local left, why = abstains(node, kept, now, ARGV[1], ARGV[3], ARGV[4])
  if left > 0 then
    return {-1, why, left, us}
  end
end
if not kept[6] then
  redis.call('HSET', node, 'cfg', ARGV[2])
end
-- Nothing for a key of another type, too, which is another program's lock: it is met again below.
local holders = redis.call('MGET', unpack(KEYS, 1, locks))
local counters, latest, grown, words, soon = {}, {}, {}, 0, us + 1000000
local run, last, proposal, wanted, least = runs - 3, 0
for lock = 1, locks do
  if lock > last then
    run = run + 3
    proposal, last = ARGV[run + 1], tonumber(ARGV[run + 2])
    wanted = tonumber(proposal)
    least = wanted and (wanted < soon and wanted or soon)
  end
  local field = ARGV[counted + lock]
  if not wanted then
    counters[lock] = '-'
  elseif not holders[lock] then
    -- Argument S4: larger than every grant before it, and not below the proposal, unless that is from far in the future.
    local before = latest[field] or kept[lock + 6]
    local counter = before and (tonumber(before) or 9007199254740991) + 1 or 1
    if counter < least then
      counter = least
    end
    -- Not the other way round: what is no number is not above it either.
    if counter <= 9007199254740991 then
      -- A plain conversion would round to 14 digits.
      counters[lock] = counter == wanted and proposal or string.format('%.0f', counter)
      latest[field] = counters[lock]
      grown[words + 1], grown[words + 2], words = field, counters[lock], words + 2
    end
  end
end
-- Argument S4: the counters before the keys.
if grown[1] then
  redis.call('HSET', node, unpack(grown))
end
local pcall, time, answers = redis.pcall, ' ' .. clock[1] .. ' ' .. clock[2], {}
local said, granted, ttl
local texts, grants = 0, 0
run, last = runs - 3, 0
for lock = 1, locks do
  if lock > last then
    run = run + 3
    ttl, last = ARGV[run], tonumber(ARGV[run + 2])
  end
  local key, owner, holder, set = KEYS[lock], ARGV[lock + 4], holders[lock], false
  if not holder and counters[lock] then
    -- Argument S3: none but who finds no key sets it, whatever this call has done before.
    set = pcall('SET', key, owner, 'NX', 'PX', ttl)
  end
  if set and set.err then
    answers[lock] = set
  elseif set then
    if counters[lock] ~= said then
      said, texts = counters[lock], texts + 1
      granted = 'granted ' .. said .. time
    end
    answers[lock], grants = granted, grants + 1
  elseif not holder and not counters[lock] then
    answers[lock] = redis.error_reply("EXHAUSTED the node's counter has come to its end")
  elseif holder == owner then
    -- One server, one vote. Argument S1: nothing is sent twice, so a vote that finds its own owner has come, by another
    -- address, to a server that has voted already. It counts for nothing, and nothing is changed.
    answers[lock] = {-3, us}
  else
    -- An error is this lock's alone: the keys of others are set by now.
    local left = pcall('PTTL', key)
    answers[lock] = type(left) == 'table' and left or {0, holder, left, us}
  end
end
local is_alike = locks == 1 or texts == 1 and grants == locks
return is_alike and answers[1] or answers
