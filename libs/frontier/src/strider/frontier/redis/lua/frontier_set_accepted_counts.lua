-- Say how many entries of executions the log knows, open or closed: what was said of the same before is replaced.
--
-- keys: KEYS[1] header of the shard; `counts`, as in frontier_count
-- arguments: those of frontier_part_shard; ARGV[5] on, two for each execution: its number, and how many entries
-- result: {0}; or a refusal
return function()
  local refused = refusal('loading')
  if refused then return refused end
  for index = 5, #ARGV, 2 do redis.call('HSET', key.counts, 'a' .. ARGV[index], ARGV[index + 1]) end
  return {DONE}
end
