-- Drop the content of a shard, a part of it in each call, and open it for loading when nothing is left.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] to ARGV[8] limits, as in frontier_take_over; ARGV[9] most
--   groups, or buckets, to drop in this call
-- result: {0, 1 if it is open for loading, 0 if there is more to drop}; {1} a newer owner has it
local function queue_numbers()
  local numbers = {}
  for q = 0, 8 * FLOWS - 1 do numbers[q + 1] = q end
  return numbers
end

return function()
  local budget = tonumber(ARGV[9])
  if is_fenced() then return {FENCED} end
  local layout = head.layout -- of what is dropped, which another version may have written
  redis.call('DEL', KEYS[1])
  -- The clock is kept: the log's times were written by it.
  redis.call('HSET', KEYS[1], 'epoch', caller.epoch, 'cluster', caller.cluster, 'state', 'dropping',
    'call', caller.call, 'offset', head.offset, 'layout', layout,
    'figures', struct.pack(FIGURES, now, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  -- Of records of another version only the names can be read: the group may have any queue.
  local function drop_groups()
    local is_known = has_current_layout()
    local names = redis.call('HRANDFIELD', key.groups, is_known and budget or math.ceil(budget / (8 * FLOWS)))
    if is_known then fetch_groups(names) end
    for _, name in ipairs(names) do
      local keys = {}
      for index, q in ipairs(is_known and group(name).numbers or queue_numbers()) do keys[index] = queue_key(q, name) end
      if #keys > 0 then redis.call('UNLINK', unpack(keys)) end
    end
    bulk('HDEL', key.groups, names)
    return #names
  end

  local function drop_seen(number)
    return drop_buckets(sizes_key(number), seen_prefix(number), budget)
  end

  if drop_groups() > 0 or drop_seen(generation) or drop_seen(generation - 1)
      or drop_buckets(parked_sizes(), parked_prefix, budget) then
    return {DONE, 0}
  end
  for _, name in ipairs({'entries', 'groups', 'later', 'counts', 'leases', 'ends', 'expired', 'names', 'shapes'}) do
    redis.call('UNLINK', base .. name)
  end
  for _, q in ipairs(queue_numbers()) do redis.call('UNLINK', due_key(q)) end
  redis.call('UNLINK', tokens_key(generation), tokens_key(generation - 1))
  write_limits(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
  redis.call('HSET', KEYS[1], 'run', run_id(), 'state', 'loading', 'layout', FULL_LAYOUT,
    'evicted', evicted())
  return {DONE, 1}
end
