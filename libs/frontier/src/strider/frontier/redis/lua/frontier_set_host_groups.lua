-- Set delays, request limits and blocks of host groups.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] groups: delay in ms, request limit, blocked until in ms, not before
--   in ms, name; ARGV[6] `loading` where that state is allowed as well
-- result: {0}; or an ownership error
return function()
  local refused = ownership_error('ready', ARGV[6])
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
    g.delay, g.max_in_flight, g.blocked, g.next_start = s.delay, s.places, s.blocked, math.max(g.next_start, s.clock)
    reschedule(g)
  end
  write_groups()
  return {DONE}
end
