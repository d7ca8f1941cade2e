-- Return which fingerprints were seen, for callers that do not own the shard. Writes nothing.
--
-- keys: KEYS[1] header of the shard
-- arguments: ARGV[1] of frontier_part_shard, of which only the cluster counts; ARGV[2] and ARGV[3] empty;
--   ARGV[4] as there; then for each scope its name and its
--   fingerprints, concatenated
-- result: for each scope one letter for each fingerprint: 1 seen, 0 not, or the shard is not ready or is another cluster's
return function()
  local is_ready = is_ready_to_read() and (head.cluster == '' or head.cluster == caller.cluster)
  local reply = {}
  for index = 5, #ARGV, 2 do
    local fingerprints, letters = {}, {}
    for first = 1, #ARGV[index + 1], 19 do
      fingerprints[#fingerprints + 1] = string.sub(ARGV[index + 1], first, first + 18)
    end
    local found = is_ready and find_seen(ARGV[index], fingerprints) or {}
    for which, fingerprint in ipairs(fingerprints) do letters[which] = found[fingerprint] and '1' or '0' end
    reply[#reply + 1] = table.concat(letters)
  end
  return reply
end
