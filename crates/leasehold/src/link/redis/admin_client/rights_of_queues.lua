-- KEYS[1] the queue of a fair lock; who reads and who has a permit needs the other commands as well.
local tries = {
  {'get', KEYS[1]}, {'set', KEYS[1], ''}, {'del', KEYS[1]}, {'zadd', KEYS[1], 1, ''}, {'zrem', KEYS[1], ''},
  {'zscore', KEYS[1], ''}, {'zrange', KEYS[1], 0, 0}, {'zremrangebyscore', KEYS[1], 0, 0}, {'pexpireat', KEYS[1], 1},
}
