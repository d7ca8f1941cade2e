-- Show to whoever only looks how a shard stands: its runs, and some of its groups. Changes nothing.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard, of which epoch and nonce may be empty; ARGV[5] on: groups
-- result: {0, now in ms, counts as in frontier_count, shapes (number, text), of each group: delay in ms, places,
--   in flight, clock in ms, blocked until in ms, queued by priority from 0}; or {2, why} where it is not ready
return function()
  if not is_readable() then return {NOT_READY, 'it is ' .. head.state} end
  local shown = {}
  for index = 5, #ARGV do
    local g = group(ARGV[index])
    shown[#shown + 1] = {
      g.delay, g.places, g.flying, math.max(g.clock, g.provisional), g.blocked, g[0], g[1], g[2], g[3],
    }
  end
  return {
    DONE, now, redis.call('HGETALL', key.counts), redis.call('HGETALL', key.shapes), shown,
  }
end
