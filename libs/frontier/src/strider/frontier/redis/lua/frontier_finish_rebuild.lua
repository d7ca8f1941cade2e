-- End a rebuild: from now on the shard answers.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] highest fetch sequence that is recorded
-- result: {0}; or a refusal
return function()
  local refused = refusal('loading', 'ready')
  if refused then return refused end
  if head.state == 'loading' then
    -- Records do not know the leases whose outcome never came; no shard gives one every millisecond.
    head.sequence = math.max(tonumber(ARGV[5]), now)
    redis.call('HSET', KEYS[1], 'state', 'ready')
  end
  write_head()
  return {DONE}
end
