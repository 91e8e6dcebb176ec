-- The rights that the user lacks for what was listed before, as ACL SETUSER has them. Each command is refused in any case
-- if it would write, but a lack of rights is found first, and told in other words. '!' stands before a command that the
-- server does not know: rename-command can hide it; '-' before one that it lets no script run, as services do.
local lacking, known = {}, {}
for _, try in ipairs(tries) do
  local answer = redis.pcall(unpack(try))
  local why = type(answer) == 'table' and answer.err or ''
  local right = nil
  -- Redis 7.0 says "The user executing the script can't …", later servers "ACL failure in script: …". Either speaks of a
  -- key or keys, or else of a command.
  local is_refused = string.find(why, 'NOPERM', 1, true) or string.find(why, 'ACL failure', 1, true)
    or string.find(why, 'user executing the script', 1, true)
  if is_refused then
    right = string.find(why, ' key', 1, true) and '~' .. try[2] or '+' .. try[1]
  elseif string.find(why, '^%S* ?Unknown .*called from script') then
    right = '!' .. try[1]
  elseif string.find(why, 'not allowed from script', 1, true) then
    right = '-' .. try[1]
  end
  if right and not known[right] then
    known[right] = true
    lacking[#lacking + 1] = right
  end
end
return lacking
