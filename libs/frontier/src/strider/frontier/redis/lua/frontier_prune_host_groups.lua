-- Drop host groups without open entries, requests in flight or a running delay: some, at random.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] least number of groups to check
-- result: {0, names of the groups that were dropped}; or an ownership error
local PART = 256 -- one in so many of all groups is checked, where that is more

return function()
  local refused = ownership_error('ready')
  if refused then return refused end
  local many = math.max(tonumber(ARGV[5]), math.floor(redis.call('HLEN', key.groups) / PART))
  local names, gone = redis.call('HRANDFIELD', key.groups, math.min(many, 4000)), {}
  fetch_groups(names)
  for _, name in ipairs(names) do
    local g = group(name)
    local is_idle = #g.rest <= OWN_SIZE and g.due_queue == NO_QUEUE
      and g.in_flight + g.standalone + g.overflow + queued_items(g) == 0
    for _, clock in pairs(g.clocks or {}) do is_idle = is_idle and clock.next_start <= now end
    if is_idle and math.max(g.next_start, g.blocked, g.provisional_start) <= now then gone[#gone + 1] = name end
  end
  bulk('HDEL', key.groups, gone)
  return {DONE, gone}
end
