-- Show open entries, a part of them at a time. Changes nothing.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] where to go on, 0 at first; ARGV[6] about how many to look at;
--   ARGV[7] phase of those to show, empty for all
-- result: {0, now in ms, where to go on (0: that was all), slot of each}; or a refusal. What is open all the
--   time is shown at least once, maybe more often
return function()
  local refused = refusal('ready')
  if refused then return refused end
  local found = redis.call('HSCAN', key.entries, ARGV[5], 'COUNT', ARGV[6])
  local phase = tonumber(ARGV[7])
  local slots = {}
  for index = 2, #found[2], 2 do
    local packed = found[2][index]
    if not phase or string.byte(packed) == phase then slots[#slots + 1] = packed end
  end
  return {DONE, now, found[1], slots}
end
