-- Set delays, request limits and blocks of host groups.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] groups: delay (or NO_DELAY) and least delay (or NO_DELAY:
--   as set before) in ms, request limit (or NO_PLACES), start (0: the whole block holds) and end of a block in ms, not
--   before in ms, a start of which the delay counts in ms (0: none), name; ARGV[6] `loading` where that state is allowed
--   as well
-- result: {0}; or an ownership error
return function()
  local refused = ownership_error('ready', ARGV[6])
  if refused then return refused end
  local names, states, at = {}, {}, 1
  while at <= #ARGV[5] do
    local s = {}
    s.delay, s.least, s.places, s.since, s.blocked, s.clock, s.began, s.name, at =
      struct.unpack('>I4I4I2I6I6I6I6I2c0', ARGV[5], at)
    states[#states + 1], names[#names + 1] = s, s.name
  end
  fetch_groups(names)
  for _, s in ipairs(states) do
    local g = group(s.name)
    parse_paces(g)
    g.delay_override, g.places_override = s.delay, s.places
    if s.least ~= NO_DELAY then g.least_delay = s.least end
    g.blocked_since, g.blocked_until = s.since, s.blocked
    apply_paces(g)
    g.next_start = math.max(g.next_start, s.clock)
    apply_delay(g, s.began)
  end
  write_groups()
  return {DONE}
end
