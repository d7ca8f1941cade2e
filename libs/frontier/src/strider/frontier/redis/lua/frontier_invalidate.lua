-- Request a rebuild of a shard from the log: its owner finds it void, and begins.
--
-- keys: KEYS[1] header of the shard
-- arguments: ARGV[1] empty, the others as in frontier_part_shard
-- result: {1 if it was ready and is void now, 0 if there was nothing to do}
return function()
  if head.state ~= 'ready' then return {0} end
  redis.call('HSET', KEYS[1], 'state', 'void', 'share', 0)
  return {1}
end
