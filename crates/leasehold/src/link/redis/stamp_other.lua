-- What the answer to a GET that failed is about: the server's error, or words for a key that holds no string.
local function other(failed)
  if not string.find(failed.err, 'WRONGTYPE', 1, true) then
    return failed
  end
  -- Only for the words: whoever may not ask does without.
  local kind = redis.pcall('TYPE', KEYS[1])
  return nil, 'a ' .. (kind.ok or 'value of another type')
end
