-- KEYS and ARGV as for a vote; ARGV[2] may be nothing, ARGV[3] is the token that a counter shall be or nothing, ARGV[4] is
-- 'extend', 'release', 'inspect' or 'raise', and ARGV[7], ARGV[10] and ARGV[11] are nothing.
-- 'granted', for an extension with '-' and the time in s and us; {0, holder, PTTL, time}: refused; {4, how many permits there
-- are, 'slot ms …' of those that are taken, time}: likewise; {-1, why, ms, time}: abstained; {-2, configuration, its text, time}:
-- of another configuration.
-- Nothing can fail behind a write, so an error means that the key was not touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now = math.floor(us / 1000)
local verb = ARGV[4]
local kept = nil
if verb == 'extend' or verb == 'raise' then
  kept = redis.call('HMGET', KEYS[2], 'id', 'until', 'why', 'fit', 'logged', 'cfg', ARGV[12])
  if kept[6] and kept[6] ~= ARGV[6] then
    return {-2, kept[6], redis.call('HGET', KEYS[2], 'about'), us}
  end
  -- Argument S9: a part that may vanish is nothing to rely upon.
  if ARGV[5] ~= 'off' and verb == 'extend' then
    local unfit = attest(KEYS[2], kept, now, ARGV[5], ARGV[8], ARGV[9])
    if unfit then
      return {-1, unfit, tonumber(ARGV[5]), us}
    end
  end
end
-- Argument S3: the comparison and the change are one step.
local ends, told = share_of(KEYS[1], ARGV[1], now)
if told and not is_of_another_type(told) then
  return told
end
-- Of those who read no grant is counted.
if not ends or verb == 'inspect' or verb == 'raise' and ARGV[12] == '' then
  local holder, last, of = reading(KEYS[1], now)
  if verb == 'inspect' and not holder and not last then
    return 'granted'
  end
  return refuse_part(holder, of and told_of(parts_of(KEYS[1], now), of), us)
end
-- Arguments S3 and S4: only the owner raises, or the counter of a later owner would be raised to an earlier token.
if verb == 'raise' then
  local counter, token = tonumber(kept[7] or '0'), tonumber(ARGV[3])
  -- Argument S4: it may be a later holder's, after whom a request that arrived twice has put our permit there again.
  if counter > token then
    return redis.error_reply("BEYOND the node's counter is beyond the token")
  end
  if counter < token then
    redis.call('HSET', KEYS[2], ARGV[12], ARGV[3])
  end
  return 'granted'
end
if verb == 'release' and ARGV[2] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
  end_with_last(KEYS[1], ends)
  return 'granted'
end
local last = last_end(KEYS[1])
if verb == 'extend' then
  -- Argument S7: what lives longer already is left as it is.
  share_until(KEYS[1], ARGV[1], math.max(ends, now + ARGV[2]), last, now)
  return 'granted - ' .. clock[1] .. ' ' .. clock[2]
end
share_until(KEYS[1], ARGV[1], now + ARGV[2], last, now)
end_with_last(KEYS[1], math.max(last, now + ARGV[2]))
return 'granted'
