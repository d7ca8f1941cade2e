-- Store how far a rebuild is.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] part of the log that is loaded, in thousandths
-- result: {0}; or an ownership error
return function()
  local refused = ownership_error('loading')
  if refused then return refused end
  redis.call('HSET', KEYS[1], 'share', ARGV[5])
  return {DONE}
end
