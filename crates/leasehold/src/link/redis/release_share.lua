-- Of one part of a name, or of several. KEYS and ARGV as for a vote, of which only the owners are looked at.
-- What each is told, one alone without a list: 'granted'; {0, holder, PTTL, time}: refused; {4, how many permits there are,
-- 'slot ms …' of those that are taken, time}: likewise. 'granted' stands alone for all, too.
-- Nothing can fail behind a write, so an error means that the key was not touched.
local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now = math.floor(us / 1000)
-- Whether the first answer is that of all.
local is_for_all = true
local answers, gone, ended = {}, {}, 0
local function take_out()
  if gone[1] then
    redis.call('ZREM', KEYS[1], unpack(gone))
    end_with_last(KEYS[1], ended)
    gone, ended = {}, 0
  end
end
for at = 6, #ARGV, 7 do
  -- Argument S3: the comparison and the change are one step.
  local ends, told = share_of(KEYS[1], ARGV[at], now)
  if told and not is_of_another_type(told) then
    return told
  end
  if ends then
    gone[#gone + 1], ended = ARGV[at], math.max(ended, ends)
    answers[#answers + 1] = 'granted'
  else
    take_out()
    local reading, told_of, refuse_part = looking_at_all()
    local holder, _, of = reading(KEYS[1], now)
    -- One part alone, which is told so without a list, has seven arguments behind five.
    is_for_all = #ARGV == 12
    answers[#answers + 1] = refuse_part(holder, of and told_of(KEYS[1], of, {}, now), us)
  end
end
take_out()
return is_for_all and answers[1] or answers
