-- KEYS[1…n] the names, behind them the node's own hash, or nothing where locks are plain. ARGV[1] owner, ARGV[2] TTL in ms
-- or nothing, ARGV[3] the token or nothing, ARGV[4] nothing, ARGV[5] 'extend', 'raise', 'release' or 'inspect'; the rest as
-- for a vote.
-- 'granted', for an extension with '-' and the time in s and us; {0, holder, PTTL, time}: refused; {-1, why, ms, time}:
-- abstained; {-2, configuration, its text, time}: of another configuration. An inspection tells a holder only if all names are
-- its own.
-- Nothing can fail behind a write, so an error means that no key was touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local verb, names, node, fields, kept = ARGV[5], #KEYS, nil, nil, nil
if ARGV[6] then
  names, node, fields = #KEYS - 1, KEYS[#KEYS], {unpack(ARGV, 10)}
end
if node and (verb == 'extend' or verb == 'raise') then
  kept = redis.call('HMGET', node, 'id', 'until', 'why', 'fit', 'logged', 'cfg', unpack(fields))
  if kept[6] and kept[6] ~= ARGV[7] then
    return {-2, kept[6], redis.call('HGET', node, 'about'), us}
  end
  -- Argument S9: keys that may vanish are nothing to rely upon.
  if verb == 'extend' and ARGV[6] ~= 'off' then
    local unfit = attest(node, kept, math.floor(us / 1000), ARGV[6], ARGV[8], ARGV[9])
    if unfit then
      return {-1, unfit, tonumber(ARGV[6]), us}
    end
  end
end
local holders, ours = redis.call('MGET', unpack(KEYS, 1, names)), {}
for name = 1, names do
  if holders[name] == ARGV[1] then
    ours[#ours + 1] = KEYS[name]
  end
end
-- Argument S3: the comparison of all and the change of all are one step.
local refused = refusal(names, holders, us, function(holder)
  if verb == 'inspect' then
    return not holder
  end
  return holder == ARGV[1]
end)
if verb == 'release' then
  -- What is ours goes all the same: a holder that has lost one of them has no use for the others.
  if ARGV[2] == '' and ours[1] then
    redis.call('DEL', unpack(ours))
  elseif ARGV[2] ~= '' then
    for _, key in ipairs(ours) do
      redis.call('PEXPIRE', key, ARGV[2])
    end
  end
end
if refused then
  -- Who has lost one of the names must see it.
  for name = 2, verb == 'inspect' and names or 0 do
    if holders[name] ~= holders[1] then
      refused[2] = false
    end
  end
  return refused
end
if verb == 'extend' then
  for _, key in ipairs(ours) do
    -- Argument S7: what lives longer already is left as it is. A key without a TTL (-1) gets one.
    if redis.call('PTTL', key) < tonumber(ARGV[2]) then
      redis.call('PEXPIRE', key, ARGV[2])
    end
  end
  return 'granted - ' .. clock[1] .. ' ' .. clock[2]
elseif verb == 'raise' then
  local _, most = largest(kept, 7, names)
  -- Argument S4: it may be a later holder's, after whom a request that arrived twice has set our keys again.
  if most > tonumber(ARGV[3]) then
    return redis.error_reply("BEYOND the node's counter is beyond the token")
  end
  raise_all(node, fields, ARGV[3])
end
return 'granted'
