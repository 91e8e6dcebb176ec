-- Of a fair lock, or of a part. KEYS[3] the queue, ARGV[10] who asks, ARGV[11] its ticket or nothing. Whether it is refused: if
-- it would be without a queue, or since others come first; `at_once` are next at the same time. To one that wants one of so many
-- `permits`, each that wants anything else counts for all of these; 1 for everything else. `read` is whether there is a key
-- although it is free, and `told` is what is told of permits by it.
-- A refusal tells two things more, {0, holder, PTTL, time, ticket, how many come before}; and there is another one,
-- {2, ms, time, ticket, how many come before}: there is no key, but others come first, the first of them for so many ms.
local function line_up(holder, free, read, now, us, permits, at_once, told)
  local queue, ticket, before = waiting(KEYS[3], ARGV[10], now)
  ticket = tonumber(ARGV[11]) or ticket
  if not ticket then
    -- Behind all who wait, whatever the clock of whoever comes says.
    ticket = math.min(tonumber(ARGV[3]) or 0, us + 1000000)
    for _, place in ipairs(queue) do
      ticket = math.max(ticket, place.ticket + 1)
    end
    ticket = math.min(ticket, 9007199254740991)
  end
  local ahead, first = 0, nil
  for _, place in ipairs(queue) do
    if comes_before(place, ticket, ARGV[10]) and not (reads(ARGV[10]) and reads(place.who)) then
      ahead = ahead + (wants_permit(place.who) and 1 or permits)
      if not first or comes_before(place, first.ticket, first.who) then
        first = place
      end
    end
  end
  -- It only adds a reason to refuse.
  local waits = not free or ahead >= at_once
  if waits and #queue < most then
    queue[#queue + 1] = {text = string.format('%s %.0f %.0f;', ARGV[10], ticket, now + life)}
  end
  keep(KEYS[3], queue, before)
  if waits then
    ticket = string.format('%.0f', ticket)
    if free and not read then
      return {2, first.left, us, ticket, ahead}
    end
    if told then
      told[4], told[5], told[6] = us, ticket, ahead
      return told
    end
    return refuse(holder, us, ticket, ahead)
  end
end
