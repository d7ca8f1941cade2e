-- Set a value where there is none, or return the one that is there; may be repeated.
--
-- keys: KEYS[1] the key
-- arguments: ARGV[1] the value; ARGV[2] its lifetime in seconds
-- result: the value that was there; nil where this one was set
local found = redis.call('GET', KEYS[1])
if found then
  return found
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return false
