-- KEYS[1] the queue of a fair lock, ARGV[1] who waits no longer. 'granted'.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local before = redis.call('GET', KEYS[1]) or ''
keep(KEYS[1], in_words(waiting(before, ARGV[1], now)), before)
return 'granted'
