-- Argument S3: the key lives on only under the owner that it carries, in one step.
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
  holder = false
end
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
return {redis.call('PTTL', KEYS[1]), holder}
