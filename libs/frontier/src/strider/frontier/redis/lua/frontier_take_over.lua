-- Take a shard over with a higher epoch, or say again that it is taken.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] most entries of a group that are queued, ARGV[6] how far ahead
--   a queued entry may be due in ms, ARGV[7] percent of memory from which on nothing more is queued (0: no limit), ARGV[8]
--   but for so many entries
-- result: {0, now in ms, 1 if the working set is ready, else 0}; {1} a newer owner has it
local BACKWARDS = 1000 -- how far a clock may be set back before it is a jump, ms

return function()
  if head.epoch and head.epoch > caller.epoch then return {FENCED} end
  local distrust = unsafe()
  if distrust then return distrust end
  local is_whole = head.state == 'ready' and head.run == run_id() and is_layout()
    and head.call >= caller.answered and redis.call('HGET', KEYS[1], 'evicted') == evicted()
  if head.epoch ~= caller.epoch then
    if head.state ~= 'ready' then
      redis.call('HSET', KEYS[1], 'state', 'absent') -- what an older owner was loading is not finished by another
    end
    redis.call('HSET', KEYS[1], 'call', caller.call)
  end
  redis.call('HSET', KEYS[1], 'epoch', caller.epoch)
  write_limits(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
  if is_off_clock() then
    set_time(math.floor((caller.earliest + caller.latest) / 2))
  elseif clock_us < (head.at - BACKWARDS) * 1000 then
    -- Nobody knows how long the shard was without an owner: time goes on from where it was, and the log says the rest.
    set_time(head.at)
    redis.call('HSET', KEYS[1], 'state', 'absent')
    is_whole = false
  end
  return {DONE, now, is_whole and 1 or 0}
end
