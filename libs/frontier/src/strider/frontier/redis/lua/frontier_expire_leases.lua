-- End leases at once that nobody has started, or whose outcome nobody decides about. One that was started ends by
-- itself: its request may still be under way.
--
-- keys: KEYS[1] header of the shard
-- arguments: ARGV[1] nothing, the others as in frontier_part_shard; ARGV[5] how old they must be, ms
-- result: {how many}
return function()
  if not is_readable() then return {0} end
  local sequences, ended = {}, 0
  for index, sequence in ipairs(redis.call('ZRANGE', key.ends, 0, -1)) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for _, sequence in ipairs(sequences) do
    local l = leases[sequence]
    local is_idle = l and (l.course == ENDED or l.state == ISSUED)
    if is_idle and l.issued <= now - tonumber(ARGV[5]) and l.expires > now then
      l.expires, moved[sequence], ended = now, true, ended + 1
    end
  end
  write_leases()
  return {ended}
end
