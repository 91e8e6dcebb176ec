-- How long a reconfiguration made the node wait, in ms: `wait` is the end that it wrote, and the wait. Without limit if
-- that is not noted, or about an earlier end than `ends`: a version that does not note it has written another since.
local function noted_wait(wait, ends)
  local written, span = string.match(wait or '', '^(%d+) (%d+)$')
  return written and tonumber(written) >= ends and tonumber(span) or math.huge
end
