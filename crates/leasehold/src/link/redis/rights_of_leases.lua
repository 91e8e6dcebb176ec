-- What a lease needs until it is released. KEYS[1] the node's own hash; for plain locks nothing, or the key that no lock
-- has. ARGV[1] a key that no lock has, ARGV[2] 'plain', 'fenced', or 'guarded' if the restart guard is on.
local key = KEYS[1] or ARGV[1]
local tries = {
  {'get', key}, {'mget', key}, {'set', key, ''}, {'del', key}, {'pttl', key}, {'pexpire', key, 1}, {'time'},
}
if ARGV[2] ~= 'plain' then
  for _, try in ipairs({{'hget', key, 'id'}, {'hmget', key, 'id'}, {'hset', key, 'id', ''}}) do
    tries[#tries + 1] = try
  end
end
if ARGV[2] == 'guarded' then
  tries[#tries + 1] = {'info', 'server'}
end
