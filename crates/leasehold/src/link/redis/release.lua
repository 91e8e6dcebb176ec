-- Argument S3: the key is deleted only under the owner that it carries, in one step.
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
  holder = false
end
if holder == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 1
end
return {redis.call('PTTL', KEYS[1]), holder}
