-- KEYS[1] the node's own hash. ARGV[1] the configuration that it was seen to have, or nothing; ARGV[2] the one with another
-- list of nodes that follows it, ARGV[3] its text, ARGV[4] whether the settings of the disk are those of one that is trusted
-- ('1') or not, or not known to be ('2').
-- {1, every counter}: it votes on, for those of the new list; {-2, configuration, its text}: it has another one by now, and
-- nothing was changed; an error: its log does not get the change.
local cfg = redis.call('HGET', KEYS[1], 'cfg')
if cfg ~= ARGV[2] then
  if (cfg or '') ~= ARGV[1] then
    return {-2, cfg, redis.call('HGET', KEYS[1], 'about')}
  end
  -- Argument S9: a log that is trusted and does not get the change votes for the old list after a restart.
  local logged = redis.call('HGET', KEYS[1], 'logged')
  if logged == '1' or logged == 'lost' then
    if durability(redis.call('INFO', 'persistence'), ARGV[4], logged) ~= '1' then
      return redis.error_reply('UNDURABLE its log is trusted, and does not get every change')
    end
  end
  -- Argument S9: one step, so each vote is of the one list or of the other. Locks that are kept here stay as they are.
  redis.call('HSET', KEYS[1], 'cfg', ARGV[2], 'about', ARGV[3])
end
return {1, counters(KEYS[1])}
