-- Append lines to a capped stream of job logs.
--
-- keys: KEYS[1] the stream
-- arguments: ARGV[1] lines to keep, about; ARGV[2] lifetime in seconds; then five per line: job, ts, level, event, text
-- result: the id of the last line
local last = false
for i = 3, #ARGV, 5 do
  last = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*',
    'job', ARGV[i], 'ts', ARGV[i + 1], 'level', ARGV[i + 2], 'event', ARGV[i + 3], 'text', ARGV[i + 4])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return last
