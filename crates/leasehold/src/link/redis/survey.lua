-- KEYS[1] the node's own hash, ARGV[1] the quarantine in ms, or 'off'. Changes nothing. {what INFO says, id, until, why,
-- configuration, its text, the text before it, time in ms, the largest counter, whether every vote is known to be on the
-- disk}.
local info = redis.call('INFO', 'server', 'replication', 'memory', 'persistence')
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kept = redis.call('HMGET', KEYS[1], 'id', 'until', 'why', 'cfg', 'about', 'was', 'logged')
-- As long as the guard will say at the next vote, and not for as long as a clock was set back (`abstains`).
local ends, longest = tonumber(kept[2] or '0') or 0, tonumber(ARGV[1]) or math.huge
-- Under the mark of a change stands what the change before it made the node wait for.
if kept[3] == 'reconfigured' or kept[3] == 'unfinished' then
  longest = math.max(longest, noted_wait(redis.call('HGET', KEYS[1], 'wait'), ends))
end
ends = math.min(ends, now + longest)
local largest = '0'
for _, counter in ipairs(counters(KEYS[1])) do
  if (tonumber(counter) or 0) > tonumber(largest) then
    largest = counter
  end
end
return {info, kept[1], string.format('%.0f', ends), kept[3], kept[4], kept[5], kept[6], now, largest, kept[7]}
