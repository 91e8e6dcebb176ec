-- KEYS[1] the queue of a fair lock, ARGV[1] who waits no longer. 'granted'.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local queue, _, before = waiting(KEYS[1], ARGV[1], now)
keep(KEYS[1], queue, before)
return 'granted'
