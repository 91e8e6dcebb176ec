-- KEYS[1] the node's own hash, KEYS[2] a lock.
local tries = {
  {'get', KEYS[2]}, {'mget', KEYS[2]}, {'set', KEYS[2], ''}, {'del', KEYS[2]}, {'pttl', KEYS[2]},
  {'pexpire', KEYS[2], 1},
  {'hget', KEYS[1], 'id'}, {'hmget', KEYS[1], 'id'}, {'hset', KEYS[1], 'id', ''}, {'info', 'server'}, {'time'},
}
