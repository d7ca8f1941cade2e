-- Continue the shard's time by its owner's estimate, after the server's clock has jumped.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard
-- result: {0, now in ms, error of the clock in ms: 0 where there was none}; or an ownership error
--
-- Clocks, blocks, leases and due times stay as they are, because the time that they are compared with is corrected.
-- Only start marks that were set by the wrong clock are moved.
return function()
  if not head.epoch then return {NOT_READY, 'it is absent'} end
  if is_fenced() then return {FENCED} end
  if not is_clock_off() then return {DONE, now, 0} end

  local by = set_time(math.floor((caller.earliest + caller.latest) / 2))

  local function move_back(l)
    local ahead = math.floor(l.marked_us / 1000) - now
    if l.state ~= STARTED or ahead <= 0 then return end
    l.marked_us, l.expires = now_us, l.expires - ahead
    changed_leases[l.sequence] = true
    local g = group(l.group)
    g.provisional_start = math.min(g.provisional_start, now + START_TOLERANCE + g.delay)
    reschedule(g)
  end

  local sequences = {}
  for index, sequence in ipairs(redis.call('ZRANGE', key.ends, 0, -1)) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for _, sequence in ipairs(sequences) do
    if leases[sequence] then move_back(leases[sequence]) end
  end
  write_leases()
  write_groups()
  return {DONE, now, by}
end
