if not ours and not free then
  return refuse(holder, us)
end
local counter = kept[7]
-- Only a repair can find its own key, which an earlier one has set. That one's TTL is the one that counts.
if ARGV[3] ~= '' and not (ours and counter) then
  -- Argument S4: larger than every grant before it, and not below the proposal, unless that is from far in the future.
  local wanted = tonumber(ARGV[3])
  local grown = math.max((tonumber(counter or '0') or 9007199254740991) + 1, math.min(wanted, us + 1000000))
  -- Not the other way round: what is no number is not above it either.
  if not (grown <= 9007199254740991) then
    return redis.error_reply("EXHAUSTED the node's counter has come to its end")
  end
  -- A plain conversion would round to 14 digits.
  counter = grown == wanted and ARGV[3] or string.format('%.0f', grown)
  -- Argument S4: the counter before the key.
  redis.call('HSET', KEYS[2], ARGV[4], counter)
end
if not ours then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
-- One text costs a server half of what a list costs.
return 'granted ' .. (ARGV[3] ~= '' and counter or '-') .. ' ' .. clock[1] .. ' ' .. clock[2]
