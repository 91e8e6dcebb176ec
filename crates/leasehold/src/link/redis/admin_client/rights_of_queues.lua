-- KEYS[1] the queue of a fair lock.
local tries = {{'get', KEYS[1]}, {'set', KEYS[1], ''}, {'del', KEYS[1]}}
