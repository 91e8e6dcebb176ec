-- The last key is the fence's, the last argument the token: taken off, so that what follows counts its own.
do
  local fence, token = table.remove(KEYS), table.remove(ARGV)
  local function is_token(text)
    return text and string.find(text, '^[1-9]%d*$') and tonumber(text) <= 9007199254740991
  end
  if not fence or not is_token(token) then
    return redis.error_reply('NOFENCE the last key must be the fence, the last argument a token')
  end
  for _, key in ipairs(KEYS) do
    -- A value that is written over the token would be taken for one.
    if key == fence then
      return redis.error_reply('NOFENCE the key of the fence is one of the other keys as well')
    end
  end
  local newest = redis.call('GET', fence)
  if newest and not is_token(newest) then
    return redis.error_reply('NOFENCE the key of the fence holds something else than a token')
  end
  -- Up to 2^53 - 1 a Lua number is exact.
  if newest and tonumber(token) < tonumber(newest) then
    return redis.error_reply('STALE ' .. newest)
  end
  redis.call('SET', fence, token)
end
