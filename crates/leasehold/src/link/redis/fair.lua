local refused = line_up(holder, free, false, now, us, 1, 1)
if refused then
  return refused
end
