-- Take a shard over with a higher epoch, or confirm the takeover.
--
-- What the owner of another Kafka cluster has left is treated as absent: it was built from another log. Only a takeover
-- replaces it; an owner of the earlier cluster that confirms its own is fenced.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] most queued entries of a group, ARGV[6] how far ahead a queued entry
--   may be due in ms, ARGV[7] percent of memory from which on nothing more is queued (0: no limit), ARGV[8] but for so
--   many entries; ARGV[9] 1 to take over, 0 to confirm
-- result: {0, now in ms, 1 if the working set is ready, else 0, the other cluster that it was of, or ''}; {1} a newer owner has it
local MAX_SET_BACK = 1000 -- how far a clock may be set back before it is a jump, ms

return function()
  -- A header without a cluster is an earlier version's, which knew of one only.
  local is_foreign = head.epoch and head.cluster ~= '' and head.cluster ~= caller.cluster
  if is_foreign and ARGV[9] ~= '1' then return {FENCED} end
  if head.epoch and not is_foreign and head.epoch > caller.epoch then return {FENCED} end
  local distrust = eviction_error()
  if distrust then return distrust end
  local is_whole = not is_foreign and head.state == 'ready' and head.run == run_id() and has_current_layout()
    and head.call >= caller.answered and redis.call('HGET', KEYS[1], 'evicted') == evicted()
  if is_foreign or head.epoch ~= caller.epoch then
    if is_foreign or head.state ~= 'ready' then
      redis.call('HSET', KEYS[1], 'state', 'absent') -- an older owner's rebuild cannot be continued
    end
    redis.call('HSET', KEYS[1], 'call', caller.call)
  end
  redis.call('HSET', KEYS[1], 'epoch', caller.epoch, 'cluster', caller.cluster)
  write_limits(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
  if is_clock_off() then
    set_time(math.floor((caller.earliest + caller.latest) / 2))
  elseif clock_us < (head.at - MAX_SET_BACK) * 1000 then
    -- How long the shard had no owner is unknown: its time goes on from where it was, and the log has the rest.
    set_time(head.at)
    redis.call('HSET', KEYS[1], 'state', 'absent')
    is_whole = false
  end
  return {DONE, now, is_whole and 1 or 0, is_foreign and head.cluster or ''}
end
