-- Take a shard over with a higher epoch, or say again that it is taken.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard
-- result: {0, now in ms, 1 if the working set is ready, else 0}; {1} a newer owner has it
read_head()
local epoch = tonumber(ARGV[1])
if head.epoch and head.epoch > epoch then return {FENCED} end
if head.epoch ~= epoch and head.state ~= 'ready' then
  redis.call('HSET', KEYS[1], 'state', 'absent') -- what an older owner was loading is not finished by another
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return {DONE, now, head.state == 'ready' and head.run == run_id() and is_layout() and 1 or 0}
