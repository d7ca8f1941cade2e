-- Take a shard over with a higher epoch, or confirm the takeover.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] most queued entries of a group, ARGV[6] how far ahead a queued entry
--   may be due in ms, ARGV[7] percent of memory from which on nothing more is queued (0: no limit), ARGV[8] but for so
--   many entries
-- result: {0, now in ms, 1 if the working set is ready, else 0}; {1} a newer owner has it
local MAX_SET_BACK = 1000 -- how far a clock may be set back before it is a jump, ms

return function()
  if head.epoch and head.epoch > caller.epoch then return {FENCED} end
  local distrust = eviction_error()
  if distrust then return distrust end
  local is_whole = head.state == 'ready' and head.run == run_id() and has_current_layout()
    and head.call >= caller.answered and redis.call('HGET', KEYS[1], 'evicted') == evicted()
  if head.epoch ~= caller.epoch then
    if head.state ~= 'ready' then
      redis.call('HSET', KEYS[1], 'state', 'absent') -- a rebuild of an older owner cannot be continued
    end
    redis.call('HSET', KEYS[1], 'call', caller.call)
  end
  redis.call('HSET', KEYS[1], 'epoch', caller.epoch)
  write_limits(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
  if is_clock_off() then
    set_time(math.floor((caller.earliest + caller.latest) / 2))
  elseif clock_us < (head.at - MAX_SET_BACK) * 1000 then
    -- How long the shard had no owner is unknown: its time goes on from where it was, and the log has the rest.
    set_time(head.at)
    redis.call('HSET', KEYS[1], 'state', 'absent')
    is_whole = false
  end
  return {DONE, now, is_whole and 1 or 0}
end
