-- Append lines to the log of a run, a stream that is capped in lines and in memory.
--
-- keys: KEYS[1] the stream
-- arguments: ARGV[1] lines to keep, about; ARGV[2] bytes to keep, about; ARGV[3] lifetime in seconds;
--   then six per line: job, run, ts, level, event, text
-- result: bytes that the stream takes
for i = 4, #ARGV, 6 do
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'job', ARGV[i], 'run', ARGV[i + 1],
    'ts', ARGV[i + 2], 'level', ARGV[i + 3], 'event', ARGV[i + 4], 'text', ARGV[i + 5])
end
redis.call('EXPIRE', KEYS[1], ARGV[3])
local most = tonumber(ARGV[2])
local bytes = redis.call('MEMORY', 'USAGE', KEYS[1]) or 0
if bytes > most then
  -- A tenth more, so that not each of the next lines needs this again.
  local kept = math.floor(redis.call('XLEN', KEYS[1]) * most / bytes * 0.9)
  redis.call('XTRIM', KEYS[1], 'MAXLEN', kept)
  bytes = redis.call('MEMORY', 'USAGE', KEYS[1]) or 0
end
return bytes
