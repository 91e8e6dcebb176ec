-- The rights that the user lacks for what was listed before, as ACL SETUSER has them. Each command is refused in any case
-- if it would write, but a lack of rights is found first, and told in other words.
local lacking, known = {}, {}
for _, try in ipairs(tries) do
  local answer = redis.pcall(unpack(try))
  local why = type(answer) == 'table' and answer.err or ''
  local right = nil
  if string.find(why, 'one of the keys', 1, true) then
    right = '~' .. try[2]
  elseif string.find(why, 'NOPERM', 1, true) or string.find(why, 'ACL failure', 1, true)
    or string.find(why, "can't run this command", 1, true) then
    right = '+' .. try[1]
  end
  if right and not known[right] then
    known[right] = true
    lacking[#lacking + 1] = right
  end
end
return lacking
