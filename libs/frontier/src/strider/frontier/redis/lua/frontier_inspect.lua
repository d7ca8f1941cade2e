-- Return runs and some host groups of a shard, for display. Changes nothing.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard, of which epoch and nonce may be empty; ARGV[5] on: groups
-- result: {0, now in ms, counts as in frontier_stats, shapes (number, text), of each group: delay in ms, request
--   limit, in flight, next request in ms, blocked until in ms, paces (open entries; delay in ms, request limit, patience
--   in s), longest delay of a flow of raw senders in ms, queued by priority from 0}; or {2, reason} where it is not ready
return function()
  if not is_ready_to_read() then return {NOT_READY, 'it is ' .. head.state} end
  local shown = {}
  for index = 5, #ARGV do
    local g, paces, queued = group(ARGV[index]), {}, {[0] = 0, 0, 0, 0}
    for q, items in pairs(g.queues) do queued[q % 4] = queued[q % 4] + items end
    for _, p in ipairs(parse_paces(g)) do paces[#paces + 1] = {p.entries, p.delay, p.places, p.patience} end
    local raw_delay = 0
    for flow = FLOWS, 2 * FLOWS - 1 do raw_delay = math.max(raw_delay, flow_delay(g, flow)) end
    shown[#shown + 1] = {
      g.delay, g.max_in_flight, g.in_flight, math.max(g.next_start, g.provisional_start), g.blocked, paces,
      raw_delay, queued[0], queued[1], queued[2], queued[3],
    }
  end
  return {
    DONE, now, redis.call('HGETALL', key.counts), redis.call('HGETALL', key.shapes), shown,
  }
end
