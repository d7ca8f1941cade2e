-- Finish a rebuild: the shard becomes ready.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] highest recorded fetch sequence
-- result: {0}; or an ownership error
return function()
  local refused = ownership_error('loading', 'ready')
  if refused then return refused end
  if head.state == 'loading' then
    -- Records do not include leases whose outcome never arrived; no shard issues one every millisecond.
    head.sequence = math.max(tonumber(ARGV[5]), now)
    redis.call('HSET', KEYS[1], 'state', 'ready')
  end
  write_header()
  return {DONE}
end
