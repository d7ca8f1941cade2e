-- Count entries by execution, and say how full the shard is.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard
-- result: {0, now in ms, queued, leased, in the ring, groups, seen, parked for room, parked
--   for time, hungry groups, when the first sleeper wakes in ms or 0, percent of memory used, groups that are due, counts}; or a
--   refusal. Counts: `o` (open) or `a` (accepted) with the number of the execution, then how many, of each
return function()
  local refused = refusal('ready') or unsafe()
  if refused then return refused end
  if redis.call('HGET', KEYS[1], 'evicted') ~= evicted() then return {NOT_READY, 'the server has thrown keys away'} end
  local seen = 0
  for number = generation - 1, generation do
    for _, packed in ipairs(redis.call('HVALS', sizes_key(number))) do
      seen = seen + struct.unpack('>I4', packed)
    end
  end
  local due = 0
  for priority = 0, 3 do due = due + redis.call('ZCOUNT', key.due[priority], '-inf', now) end
  return {
    DONE, now, head.queued, redis.call('HLEN', key.leases), head.ring, redis.call('HLEN', key.groups), seen,
    head.parked, head.asleep, head.hungry, head.wake, math.floor(memory_percent()), due,
    redis.call('HGETALL', key.counts),
  }
end
