-- KEYS[1] the node's own hash. Changes nothing. {what INFO says, id, until, why, configuration, its text, the text
-- before it, time in ms, the largest counter, whether every vote is known to be on the disk}.
local info = redis.call('INFO', 'server', 'replication', 'memory', 'persistence')
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kept = redis.call('HMGET', KEYS[1], 'id', 'until', 'why', 'cfg', 'about', 'was', 'logged')
local largest = '0'
for _, counter in ipairs(counters(KEYS[1])) do
  if (tonumber(counter) or 0) > tonumber(largest) then
    largest = counter
  end
end
return {info, kept[1], kept[2], kept[3], kept[4], kept[5], kept[6], now, largest, kept[7]}
