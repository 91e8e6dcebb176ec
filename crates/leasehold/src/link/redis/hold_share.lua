-- KEYS and ARGV as for a vote of one part; ARGV[1] is 'extend', 'release', to end after the TTL, 'inspect' or 'raise'; the TTL may
-- be nothing, the proposal is the token that a counter shall be or nothing, and who asks, its ticket and from whom are nothing.
-- 'granted', for an extension with '-' and the time in s and us; {0, holder, PTTL, time}: refused; {4, how many permits there
-- are, 'slot ms …' of those that are taken, time}: likewise; {-1, why, ms, time}: abstained; {-2, configuration, its text, time}:
-- of another configuration.
-- Nothing can fail behind a write, so an error means that the key was not touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now = math.floor(us / 1000)
local verb, owner, ttl, field = ARGV[1], ARGV[6], ARGV[7], ARGV[11]
local kept = nil
if verb == 'extend' or verb == 'raise' then
  kept = redis.call('HMGET', KEYS[2], 'id', 'until', 'why', 'fit', 'logged', 'cfg', field)
  if kept[6] and kept[6] ~= ARGV[3] then
    return {-2, kept[6], redis.call('HGET', KEYS[2], 'about'), us}
  end
  -- Argument S9: a part that may vanish is nothing to rely upon.
  if ARGV[2] ~= 'off' and verb == 'extend' then
    local unfit = attest(KEYS[2], kept, now, ARGV[2], ARGV[4], ARGV[5])
    if unfit then
      return {-1, unfit, tonumber(ARGV[2]), us}
    end
  end
end
-- Argument S3: the comparison and the change are one step.
local ends, told = share_of(KEYS[1], owner, now)
if told and not is_of_another_type(told) then
  return told
end
-- Of those who read no grant is counted.
if not ends or verb == 'inspect' or verb == 'raise' and field == '' then
  local holder, last, of = reading(KEYS[1], now)
  if verb == 'inspect' and not holder and not last then
    return 'granted'
  end
  return refuse_part(holder, of and told_of(KEYS[1], of, {}, now), us)
end
-- Arguments S3 and S4: only the owner raises, or the counter of a later owner would be raised to an earlier token.
if verb == 'raise' then
  local counter, token = tonumber(kept[7] or '0'), tonumber(ARGV[8])
  -- Argument S4: it may be a later holder's, after whom a request that arrived twice has put our permit there again.
  if counter > token then
    return redis.error_reply("BEYOND the node's counter is beyond the token")
  end
  if counter < token then
    redis.call('HSET', KEYS[2], field, ARGV[8])
  end
  return 'granted'
end
local last = last_end(KEYS[1])
-- Argument S7: what lives longer already is left as it is, unless it is released.
local its = verb == 'extend' and math.max(ends, now + ttl) or now + ttl
share_until(KEYS[1], {string.format('%d', its), owner}, its, last, now)
if verb == 'extend' then
  return 'granted - ' .. clock[1] .. ' ' .. clock[2]
end
end_with_last(KEYS[1], math.max(last, its))
return 'granted'
