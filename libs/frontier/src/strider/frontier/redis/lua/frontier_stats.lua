-- Return the entries of each execution, and the counters of the shard.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard
-- result: {0, now in ms, queued, leased, in the pipeline, groups, seen, overflow, deferred, refillable groups, next due
--   time of a deferred entry in ms or 0, percent of memory used, due groups, counts}; or an ownership error. Counts: `o`
--   (open) or `a` (accepted) with the number of the execution, then the number of entries, of each
return function()
  local refused = ownership_error('ready') or eviction_error()
  if refused then return refused end
  if redis.call('HGET', KEYS[1], 'evicted') ~= evicted() then return {NOT_READY, 'the server has evicted keys'} end
  local seen = 0
  for number = generation - 1, generation do
    for _, packed in ipairs(redis.call('HVALS', sizes_key(number))) do
      seen = seen + struct.unpack('>I4', packed)
    end
  end
  local due = 0
  for _, q in ipairs(due_queues()) do due = due + redis.call('ZCOUNT', due_key(q), '-inf', now) end
  return {
    DONE, now, head.queued, redis.call('HLEN', key.leases), head.in_pipeline, redis.call('HLEN', key.groups), seen,
    head.overflow, head.deferred, head.refillable, head.next_deferred_due, math.floor(memory_percent()), due,
    redis.call('HGETALL', key.counts),
  }
end
