-- Say how far a rebuild is.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] how much of the log is behind it, in thousandths
-- result: {0}; or a refusal
return function()
  local refused = refusal('loading')
  if refused then return refused end
  redis.call('HSET', KEYS[1], 'share', ARGV[5])
  return {DONE}
end
