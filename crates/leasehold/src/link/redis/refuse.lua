-- The answer about a key that is not ours, or is none: {0, holder or nil, PTTL, and whatever else is told}.
local function refuse(holder, ...)
  if type(holder) == 'table' then
    -- Another type of key is another program's lock. Every other error is the server's.
    if not string.find(holder.err, 'WRONGTYPE', 1, true) then
      return holder
    end
    holder = false
  end
  return {0, holder, redis.call('PTTL', KEYS[1]), ...}
end
