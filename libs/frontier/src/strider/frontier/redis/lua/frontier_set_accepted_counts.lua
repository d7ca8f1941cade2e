-- Set how many entries of executions the log has, open or closed; replaces an earlier count.
--
-- keys: KEYS[1] header of the shard; `counts`, as in frontier_stats
-- arguments: those of frontier_part_shard; ARGV[5] on, two for each execution: its number, and its entries
-- result: {0}; or an ownership error
return function()
  local refused = ownership_error('loading')
  if refused then return refused end
  for index = 5, #ARGV, 2 do redis.call('HSET', key.counts, 'a' .. ARGV[index], ARGV[index + 1]) end
  return {DONE}
end
