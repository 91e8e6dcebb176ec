local queue = redis.call('GET', KEYS[3]) or ''
local refused, after = line_up(queue, ARGV[10], ARGV[11], ARGV[3], holder, free, false, now, us, 1, 1)
keep(KEYS[3], after, queue)
if refused then
  return refused
end
