-- Drop all there is of a shard, some of it each call, and open it for loading when nothing is left.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] how many groups, or buckets, to drop in this call
-- result: {0, 1 if it is open for loading, 0 if there is more to drop}; {1} a newer owner has it
local budget = tonumber(ARGV[5])
if head.epoch and head.epoch > caller.epoch then return {FENCED} end
redis.call('DEL', KEYS[1])
-- Time goes on: what the log says was written by this clock.
redis.call('HSET', KEYS[1], 'epoch', string.format('%.0f', caller.epoch), 'state', 'dropping',
  'call', string.format('%.0f', caller.call), 'offset', string.format('%.0f', head.offset),
  'at', string.format('%.0f', now))

local function drop_groups()
  local names = redis.call('HRANDFIELD', groups_key, budget)
  for _, name in ipairs(names) do
    local prefix = base .. 'queue:'
    redis.call('UNLINK', prefix .. '0:' .. name, prefix .. '1:' .. name, prefix .. '2:' .. name, prefix .. '3:' .. name)
  end
  bulk('HDEL', groups_key, names)
  return #names
end

local function drop_buckets(number)
  local scope = redis.call('HRANDFIELD', sizes_key(number))
  if not scope then return false end
  local s = size(number, scope)
  local dropped = 0
  while s.buckets > 0 and dropped < budget do
    s.buckets, dropped = s.buckets - 1, dropped + 1
    redis.call('UNLINK', s.prefix .. s.buckets)
  end
  if s.buckets > 0 then
    redis.call('HSET', sizes_key(number), scope, struct.pack('>I4I4', s.members, s.buckets))
  else
    redis.call('HDEL', sizes_key(number), scope)
  end
  return true
end

if drop_groups() > 0 or drop_buckets(generation) or drop_buckets(generation - 1) then return {DONE, 0} end
for _, name in ipairs({'entries', 'groups', 'later', 'counts', 'leases', 'ends', 'expired', 'names', 'shapes',
    'due:0', 'due:1', 'due:2', 'due:3'}) do
  redis.call('UNLINK', base .. name)
end
redis.call('UNLINK', tokens_key(generation), tokens_key(generation - 1))
redis.call('HSET', KEYS[1], 'run', run_id(), 'state', 'loading', 'layout', LAYOUT .. '-' .. FIELDS)
return {DONE, 1}
