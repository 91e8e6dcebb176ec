-- KEYS[1] the node's own hash. ARGV[1] the configuration that it was seen to have, or nothing; ARGV[2] the mark of a
-- change that is not finished, ARGV[3] its text, ARGV[4] the text of the configuration before, ARGV[5] whether
-- the settings of the disk are those of one that is trusted ('1') or not, or not known to be ('2').
-- {1, every counter}: from here on it votes for nobody; {-2, configuration, its text}: it has another one by now, and
-- nothing was changed; an error: its log does not get the mark.
local cfg = redis.call('HGET', KEYS[1], 'cfg')
if (cfg or '') ~= ARGV[1] then
  return {-2, cfg, redis.call('HGET', KEYS[1], 'about')}
end
-- Argument S9: a log that is trusted and does not get the mark votes at once after a restart, for the old configuration.
local logged = redis.call('HGET', KEYS[1], 'logged')
if logged == '1' or logged == 'lost' then
  if durability(redis.call('INFO', 'persistence'), ARGV[5], logged) ~= '1' then
    return redis.error_reply('UNDURABLE its log is trusted, and does not get every change')
  end
end
-- Argument S1: a mark is nobody's configuration, so it ends votes and extensions of the old and of the new.
if cfg ~= ARGV[2] then
  local kept = redis.call('HMGET', KEYS[1], 'why', 'until')
  -- A quarantine that no reconfiguration has begun is not longer than that of the configuration which ends.
  if kept[1] ~= 'reconfigured' and kept[1] ~= 'unfinished' then
    redis.call('HSET', KEYS[1], 'wait', (kept[2] or '0') .. ' 0')
  end
  redis.call('HSET', KEYS[1], 'cfg', ARGV[2], 'about', ARGV[3], 'was', ARGV[4], 'why', 'unfinished')
end
return {1, counters(KEYS[1])}
