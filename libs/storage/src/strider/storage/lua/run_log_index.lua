-- Record which logs of runs were written or have ended, and name those to delete for want of room.
--
-- keys: KEYS[1] open logs by the time of the last line; KEYS[2] ended logs by the time at which they expire;
--   KEYS[3] bytes of each log, and of all under the empty name
-- arguments: ARGV[1] lifetime of a log in seconds; ARGV[2] bytes that all logs may take;
--   ARGV[3] seconds until ended ones expire, or -1 where the logs were written; then pairs: run, bytes
-- result: the runs whose logs are to be deleted
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lifetime = tonumber(ARGV[1]) * 1000
local ends_in = tonumber(ARGV[3])

local function forget(run)
  local bytes = redis.call('HGET', KEYS[3], run)
  if bytes then
    redis.call('HINCRBY', KEYS[3], '', -tonumber(bytes))
    redis.call('HDEL', KEYS[3], run)
  end
  redis.call('ZREM', KEYS[1], run)
  redis.call('ZREM', KEYS[2], run)
end

for i = 4, #ARGV, 2 do
  local run, bytes = ARGV[i], tonumber(ARGV[i + 1])
  if ends_in >= 0 then
    redis.call('ZREM', KEYS[1], run)
    redis.call('ZADD', KEYS[2], now + ends_in * 1000, run)
  else
    redis.call('ZREM', KEYS[2], run)
    redis.call('ZADD', KEYS[1], now, run)
  end
  if bytes >= 0 then
    local before = tonumber(redis.call('HGET', KEYS[3], run) or '0')
    redis.call('HSET', KEYS[3], run, bytes)
    redis.call('HINCRBY', KEYS[3], '', bytes - before)
  end
end

for _, run in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - lifetime, 'LIMIT', 0, 500)) do
  forget(run)
end
for _, run in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 500)) do
  forget(run)
end

-- Ended logs go first: they are archived.
local deleted = {}
while #deleted < 500 and tonumber(redis.call('HGET', KEYS[3], '') or '0') > tonumber(ARGV[2]) do
  local run = redis.call('ZRANGE', KEYS[2], 0, 0)[1] or redis.call('ZRANGE', KEYS[1], 0, 0)[1]
  if not run then
    redis.call('DEL', KEYS[3])
    break
  end
  forget(run)
  deleted[#deleted + 1] = run
end
for _, key in ipairs(KEYS) do
  redis.call('EXPIRE', key, ARGV[1])
end
return deleted
