-- Forget groups that have nothing queued, parked or under way, and whose clocks have passed: some, by chance.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] how many groups to look at, at least
-- result: {0, names of the groups that are forgotten}; or a refusal
local PART = 256 -- of all groups, one in so many is looked at, where that is more

return function()
  local refused = refusal('ready')
  if refused then return refused end
  local many = math.max(tonumber(ARGV[5]), math.floor(redis.call('HLEN', key.groups) / PART))
  local names, gone = redis.call('HRANDFIELD', key.groups, math.min(many, 4000)), {}
  fetch_groups(names)
  for _, name in ipairs(names) do
    local g = group(name)
    local is_idle = g.rank == NOWHERE and g.flying + g.holds + g.parked + g[0] + g[1] + g[2] + g[3] == 0
    if is_idle and math.max(g.clock, g.blocked, g.provisional) <= now then gone[#gone + 1] = name end
  end
  bulk('HDEL', key.groups, gone)
  return {DONE, gone}
end
