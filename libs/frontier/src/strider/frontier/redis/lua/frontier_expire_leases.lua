-- Expire leases at once that were not started, or whose outcome is not concluded. A started lease expires by itself:
-- its request may still be in flight.
--
-- keys: KEYS[1] header of the shard
-- arguments: ARGV[1] empty, the others as in frontier_part_shard; ARGV[5] minimum age, ms
-- result: {number of leases}
return function()
  if not is_ready_to_read() then return {0} end
  local sequences, ended = {}, 0
  for index, sequence in ipairs(redis.call('ZRANGE', key.ends, 0, -1)) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for _, sequence in ipairs(sequences) do
    local l = leases[sequence]
    local is_idle = l and (l.progress == ENDED or l.state == ISSUED)
    if is_idle and l.issued <= now - tonumber(ARGV[5]) and l.expires > now then
      l.expires, changed_leases[sequence], ended = now, true, ended + 1
    end
  end
  write_leases()
  return {ended}
end
