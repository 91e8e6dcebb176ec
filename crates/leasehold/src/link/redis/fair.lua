local refused = line_up(holder, free, false, now, us)
if refused then
  return refused
end
