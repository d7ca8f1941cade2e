-- Queue parked entries, as the log has them; leave those that are not parked, or have no room yet.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] `begin` where these are the first of a pass through the log, `end`
--   where they are its last, `whole` for both, or nothing; ARGV[6] entries: entry id, pace (0: none), group, tail of the
--   slot; ARGV[7] the paces
-- result: {0, how many were queued}; or an ownership error
-- Returns the number of the pace of an entry that is counted already, and may have got another pace since.
local function pace_number(g, wanted, q)
  for _, p in ipairs(parse_paces(g)) do
    if is_pace(p, wanted, flow_of_paces(q)) then return p.number end
  end
  close_pace(g, 0, q)
  return open_pace(g, wanted, q)
end

return function()
  local refused = ownership_error('ready')
  if refused then return refused end
  local before = previous_reply()
  if before then return {DONE, tonumber(before)} end
  if ARGV[5] == 'begin' or ARGV[5] == 'whole' then head.pass_deferred_due = 0 end

  local ids, names, tails, numbers, at = {}, {}, {}, {}, 1
  local paces = read_paces(ARGV[7])
  while at <= #ARGV[6] do
    local n = #ids + 1
    ids[n], numbers[n], names[n], tails[n], at = struct.unpack('>c16I2I2c0I4c0', ARGV[6], at)
  end
  promote()
  fetch_groups(names)
  local kinds = parked_kinds(ids)
  local is_full = head.memory_full_percent > 0 and memory_percent() >= head.memory_full_percent
  local opened, count_opened = {}, 0

  local function refill(n, kind)
    local id, tail, g = ids[n], tails[n], group(names[n])
    local due, q, _, sequence = struct.unpack(TAIL, tail)
    if is_deferred(due) then
      if kind == OVERFLOW then
        unpark(id, kind, g)
        park_deferred(id, due)
      else
        note_deferred_due(due)
      end
      return
    end
    if (is_full and head.queued >= head.minimum_entries) or is_group_full(g, q) then
      if kind == DEFERRED then
        unpark(id, kind, g)
        park_overflow(id, g)
      end
      return
    end
    unpark(id, kind, g)
    head.queued, count_opened = head.queued + 1, count_opened + 1
    opened[#opened + 1] = id
    local pace = numbers[n] > 0 and pace_number(g, paces[numbers[n]], q) or 0
    opened[#opened + 1] = new_slot(QUEUED, enqueue(id, due, q, g), sequence, pace, tail)
  end

  for n, id in ipairs(ids) do
    local kind = kinds[id]
    kinds[id] = nil
    if kind then refill(n, kind) end
  end
  if ARGV[5] == 'end' or ARGV[5] == 'whole' then head.next_deferred_due = head.pass_deferred_due end
  bulk('HSET', key.entries, opened)
  write_parked()
  write_entries()
  write_groups()
  write_header(tostring(count_opened))
  return {DONE, count_opened}
end
