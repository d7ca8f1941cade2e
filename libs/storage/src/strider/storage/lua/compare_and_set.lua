-- Replace a value that is the expected one; may be repeated.
--
-- keys: KEYS[1] the key
-- arguments: ARGV[1] the expected value; ARGV[2] the new one, empty to delete the key; ARGV[3] its lifetime in seconds
-- result: 1 where the expected value was there, else 0
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
end
return 1
