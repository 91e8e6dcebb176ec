-- KEYS[1] the node's own hash. ARGV[1] configuration, ARGV[2] its text, ARGV[3] quarantine in ms or 'off',
-- ARGV[4] the number of the failover by which it is the master, if sentinels say so.
-- An operator's word that the node may vote. {1, why it would not have voted, for how many ms}: it may now;
-- {-2, configuration, its text}: of another configuration, and nothing was changed.
local info = redis.call('INFO', 'server', 'replication', 'stats')
local current = string.match(info, 'run_id:(%x+)') .. '/' .. string.match(info, 'master_replid:(%x+)')
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kept = redis.call('HMGET', KEYS[1], 'id', 'until', 'why', 'cfg', 'about')
if kept[4] and kept[4] ~= ARGV[1] then
  return {-2, kept[4], kept[5]}
end
local left, why = (tonumber(kept[2] or '0') or 0) - now, kept[3]
if kept[1] ~= current then
  left, why = tonumber(ARGV[3]), kept[1] and 'changed' or 'empty'
end
if ARGV[3] == 'off' then
  left = 0
end
-- Nor is there anything that it may have evicted until now. In one command: a user who may not do all of it does nothing.
local fields = {'id', current, 'until', '0', 'why', why or 'empty', 'cfg', ARGV[1],
  'about', kept[4] and kept[5] or ARGV[2],
  'evicted', string.match(info, 'evicted_keys:(%d+)') or ''}
-- Who is told of the same failover need not wait either.
if ARGV[4] then
  fields[#fields + 1] = 'failover'
  fields[#fields + 1] = ARGV[4]
end
redis.call('HSET', KEYS[1], unpack(fields))
return {1, why, math.max(left, 0)}
