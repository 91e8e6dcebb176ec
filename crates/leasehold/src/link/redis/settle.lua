-- KEYS[1] the node's own hash. ARGV[1] the mark that it must carry, ARGV[2] the new configuration, ARGV[3] its text,
-- ARGV[4] for how many ms it shall not vote, ARGV[5] whether clients look at that time ('1') or the mark has to keep
-- them out until then, ARGV[6…] numbers of counters and what they shall be at least, in turn.
-- {1, ms}: of the new configuration, and votes in so many ms; {0, ms}: still to be kept out for so long;
-- {-2, configuration, its text}: it does not carry the mark, and nothing was changed.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kept = redis.call('HMGET', KEYS[1], 'until', 'why', 'cfg', 'wait')
if kept[3] ~= ARGV[1] then
  return {-2, kept[3], redis.call('HGET', KEYS[1], 'about')}
end
local current = false
if ARGV[5] == '1' then
  local info = redis.call('INFO', 'server', 'replication')
  current = string.match(info, 'run_id:(%x+)') .. '/' .. string.match(info, 'master_replid:(%x+)')
end
-- Argument S4: tokens of the old configuration stay smaller than those of the new.
for place = 6, #ARGV, 2 do
  local field = 'f' .. ARGV[place]
  if (tonumber(redis.call('HGET', KEYS[1], field) or '0') or 0) < tonumber(ARGV[place + 1]) then
    redis.call('HSET', KEYS[1], field, ARGV[place + 1])
  end
end
local written = tonumber(kept[1] or '0') or 0
-- What the node waits for already is not shortened, unless a clock that was set back has made it longer.
local ends = math.min(written, now + math.max(tonumber(ARGV[4]), noted_wait(kept[4], written)))
-- Argument S9: counted from now, when no quorum of the old configuration is left.
if kept[2] ~= 'reconfigured' then
  ends = math.max(ends, now + tonumber(ARGV[4]))
end
if kept[2] ~= 'reconfigured' or ends ~= written then
  local wait = string.format('%.0f %.0f', ends, ends - now)
  redis.call('HSET', KEYS[1], 'until', string.format('%.0f', ends), 'why', 'reconfigured', 'wait', wait)
end
if current then
  redis.call('HSET', KEYS[1], 'id', current)
elseif ends > now then
  return {0, ends - now}
end
redis.call('HSET', KEYS[1], 'cfg', ARGV[2], 'about', ARGV[3])
return {1, math.max(ends - now, 0)}
