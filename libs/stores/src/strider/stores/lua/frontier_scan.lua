-- Show open entries, a part of them at a time. Changes nothing.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] where to go on, 0 at first; ARGV[6] about how many to look at
-- result: {0, now in ms, where to go on (0: that was all), slot of each}; or a refusal. What is open all the
--   time is shown at least once, maybe more often
local refused = refusal('ready')
if refused then return refused end
local found = redis.call('HSCAN', base .. 'entries', ARGV[5], 'COUNT', ARGV[6])
local slots = {}
for index = 2, #found[2], 2 do slots[#slots + 1] = found[2][index] end
return {DONE, now, found[1], slots}
