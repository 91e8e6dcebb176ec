-- Of a fair lock, or of a part, with the queue in `text`: the refusal of `who`, whose ticket and proposal for one may be
-- nothing, if it is refused; and the text then. It is refused if it would be without a queue, or since others come first;
-- `at_once` are next at the same time. To one that wants one of so many `permits`, each that wants anything else counts for all
-- of these; 1 for everything else. `read` is whether there is a key although it is free, and `told` tells of permits by it.
-- A refusal tells two things more, {0, holder, PTTL, time, ticket, how many come before}; and there is another one,
-- {2, ms, time, ticket, how many come before}: there is no key, but others come first, the first of them for so many ms.
local function line_up(text, who, ticket, proposal, holder, free, read, now, us, permits, at_once, told)
  local queue, kept = waiting(text, who, now)
  ticket = tonumber(ticket) or kept
  if not ticket then
    -- Behind all who wait, whatever the clock of whoever comes says.
    ticket = math.min(tonumber(proposal) or 0, us + 1000000)
    for _, place in ipairs(queue) do
      ticket = math.max(ticket, place.ticket + 1)
    end
    ticket = math.min(ticket, 9007199254740991)
  end
  local ahead, first = 0, nil
  for _, place in ipairs(queue) do
    if comes_before(place, ticket, who) and not (reads(who) and reads(place.who)) then
      ahead = ahead + (wants_permit(place.who) and 1 or permits)
      if not first or comes_before(place, first.ticket, first.who) then
        first = place
      end
    end
  end
  -- It only adds a reason to refuse.
  local waits = not free or ahead >= at_once
  if waits and #queue < most then
    queue[#queue + 1] = {text = string.format('%s %.0f %.0f;', who, ticket, now + life)}
  end
  text = in_words(queue)
  if not waits then
    return nil, text
  end
  ticket = string.format('%.0f', ticket)
  if free and not read then
    return {2, first.left, us, ticket, ahead}, text
  end
  if told then
    local refusal = told()
    refusal[4], refusal[5], refusal[6] = us, ticket, ahead
    return refusal, text
  end
  return refuse(holder, us, ticket, ahead), text
end
