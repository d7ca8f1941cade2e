-- Mark the end of a run's log, unless a line has come since it was read.
--
-- keys: KEYS[1] the stream
-- arguments: ARGV[1] id of the last line that was read; ARGV[2] lifetime in seconds from now on; then job, run, ts
-- result: 1, or 0 where a line has come
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not last then
  return 1
end
if last[1] ~= ARGV[1] then
  return 0
end
redis.call('XADD', KEYS[1], '*', 'job', ARGV[3], 'run', ARGV[4], 'ts', ARGV[5], 'end', '1')
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
