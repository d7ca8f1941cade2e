-- Set delays, places and blocks of groups.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] groups: delay in ms, places, blocked until in ms, not before
--   in ms, name; ARGV[6] `loading` where that state will do as well
-- result: {0}; or a refusal
return function()
  local refused = refusal('ready', ARGV[6])
  if refused then return refused end
  local names, states, at = {}, {}, 1
  while at <= #ARGV[5] do
    local s = {}
    s.delay, s.places, s.blocked, s.clock, s.name, at = struct.unpack('>I4I2I6I6I2c0', ARGV[5], at)
    states[#states + 1], names[#names + 1] = s, s.name
  end
  fetch_groups(names)
  for _, s in ipairs(states) do
    local g = group(s.name)
    g.delay, g.places, g.blocked, g.clock = s.delay, s.places, s.blocked, math.max(g.clock, s.clock)
    refresh(g)
  end
  write_groups()
  return {DONE}
end
