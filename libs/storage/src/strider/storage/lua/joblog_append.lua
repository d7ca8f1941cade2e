-- Append lines to the capped log of one job.
--
-- keys: KEYS[1] the job's log (stream)
-- arguments: ARGV[1] lines to keep, about; ARGV[2] lifetime in seconds; then four per line: ts, level, event, text
-- result: the id of the last line
local last = false
for i = 3, #ARGV, 4 do
  last = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*',
    'ts', ARGV[i], 'level', ARGV[i + 1], 'event', ARGV[i + 2], 'text', ARGV[i + 3])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return last
