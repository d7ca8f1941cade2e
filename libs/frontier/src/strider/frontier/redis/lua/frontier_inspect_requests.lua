-- Return outstanding requests by run, and locations of some entries, for display. Changes nothing.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard, of which epoch and nonce may be empty; ARGV[5] on: entry ids
-- result: {0, of each run with requests: its number, issued, started; shapes (number, text); of each entry: 0 not open,
--   1 waiting, 2 request issued, 3 started, 4 page in the pipeline}; or {2, reason} where it is not ready
return function()
  if not is_ready_to_read() or not has_current_layout() then return {NOT_READY, 'it is ' .. tostring(head.state)} end
  local sequences, ids, running = {}, {}, {}
  for index, sequence in ipairs(redis.call('ZRANGE', key.ends, 0, -1)) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for _, sequence in ipairs(sequences) do
    local l = leases[sequence]
    if l and l.progress == RUNNING and l.id ~= NO_ENTRY then
      running[#running + 1], ids[#ids + 1] = l, l.id
    end
  end
  fetch_slots(ids)
  local numbers, issued, started = {}, {}, {}
  for _, l in ipairs(running) do
    local s = slots[l.id]
    if s then
      local run = s.execution
      if not issued[run] then numbers[#numbers + 1], issued[run], started[run] = run, 0, 0 end
      local many = l.state == STARTED and started or issued
      many[run] = many[run] + 1
    end
  end
  local runs, places = {}, {}
  for _, run in ipairs(numbers) do
    runs[#runs + 1], runs[#runs + 2], runs[#runs + 3] = run, issued[run], started[run]
  end
  for index = 5, #ARGV do
    local s, where = slot(ARGV[index]), 0
    if s and s.phase == LEASED then
      local l = lease(s.held)
      where = l and l.progress == RUNNING and (l.state == STARTED and 3 or 2) or 1
    elseif s then
      where = s.phase == IN_PIPELINE and 4 or 1
    end
    places[#places + 1] = where
  end
  return {DONE, runs, redis.call('HGETALL', key.shapes), places}
end
