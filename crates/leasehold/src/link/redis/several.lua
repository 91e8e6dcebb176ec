-- Names that are locked together: what is asked is done to all of them, or to none. KEYS[1…n] the names. Tells of which of
-- them `is_open` says no, by what they hold: {0, the first's holder, PTTL of the last to end, time}; nothing if of none.
local function refusal(names, holders, us, is_open)
  local first, last = nil, -2
  for name = 1, names do
    local held = holders[name]
    local open = is_open(held)
    -- Nothing for a key of another type, too, which is another program's lock.
    if not open or not held then
      local left = redis.call('PTTL', KEYS[name])
      if not open or left ~= -2 then
        first = first or name
        -- One without a TTL (-1) ends never.
        if last ~= -1 and (left == -1 or left > last) then
          last = left
        end
      end
    end
  end
  return first and {0, holders[first], last, us}
end
-- The largest of the counters from the field `from` on: what `kept` has, and as a number; nothing and 0 if there is none.
local function largest(kept, from, names)
  local text, most = nil, 0
  for field = from, from + names - 1 do
    local counter = kept[field] and (tonumber(kept[field]) or 9007199254740991) or 0
    -- Not the other way round: what is no number is not below it either.
    if not (counter <= most) then
      text, most = kept[field], counter
    end
  end
  return text, most
end
-- Argument S4: whatever the counters of the names were, from here on they are the same.
local function raise_all(node, fields, counter)
  local words = {}
  for _, field in ipairs(fields) do
    words[#words + 1], words[#words + 2] = field, counter
  end
  redis.call('HSET', node, unpack(words))
end
