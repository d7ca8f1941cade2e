-- Return a part of the open entries. Changes nothing.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] cursor, 0 at first; ARGV[6] about how many entries to check; ARGV[7]
--   phase of those to return, empty for all
-- result: {0, now in ms, next cursor (0: that was all), slot of each}; or an ownership error. An entry that stays open is
--   returned at least once, maybe more often
return function()
  local refused = ownership_error('ready')
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
