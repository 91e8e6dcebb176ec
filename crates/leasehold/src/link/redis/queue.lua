-- The queue of a fair lock: `waiter ticket ends;` for each who waits, the millisecond in which its place ends last.
-- For how many ms a place is kept, and how many there are.
local life, most = 3000, 128
-- Of the queue in this text, those who wait but for `waiter`, in no order; and its ticket, if it is among them.
local function waiting(text, waiter, now)
  local others, own = {}, nil
  for who, ticket, ends in string.gmatch(text, '(%x+) (%d+) (%d+);') do
    local left = tonumber(ends) - now
    -- A clock that was set back would keep a place for as long as it was set back.
    if left > 0 and left <= life then
      if who == waiter then
        own = tonumber(ticket)
      else
        local place = who .. ' ' .. ticket .. ' ' .. ends .. ';'
        others[#others + 1] = {who = who, ticket = tonumber(ticket), left = left, text = place}
      end
    end
  end
  return others, own
end
local function in_words(queue)
  local texts = {}
  for number, place in ipairs(queue) do
    texts[number] = place.text
  end
  return table.concat(texts)
end
-- Writes the queue down, unless that is what is there. It goes by itself with the last of them.
local function keep(key, text, before)
  if text == before then
    return
  end
  if text == '' then
    redis.call('DEL', key)
  else
    redis.call('SET', key, text, 'PX', life)
  end
end
local function comes_before(one, ticket, who)
  return one.ticket < ticket or (one.ticket == ticket and one.who < who)
end
-- Whether that waiter wants a share: those who do wait only for those who do not.
local function reads(who)
  return string.byte(who) > 55
end
-- Whether it wants a permit: as many of these as there are permits left are next at the same time.
local function wants_permit(who)
  local first = string.byte(who)
  return first > 51 and first < 56
end
