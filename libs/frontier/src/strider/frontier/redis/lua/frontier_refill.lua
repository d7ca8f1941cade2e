-- Queue entries that were parked, as the log has them; refuse what is not parked, or has no room yet.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] `begin` where these are the first of a round through the
--   log, `end` where they are its last, `whole` for both, or nothing; ARGV[6] entries: entry id, group, tail
--   of the slot
-- result: {0, how many were queued}; or a refusal
return function()
  local refused = refusal('ready')
  if refused then return refused end
  local before = said_before()
  if before then return {DONE, tonumber(before)} end
  if ARGV[5] == 'begin' or ARGV[5] == 'whole' then head.wake_next = 0 end

  local ids, names, tails, at = {}, {}, {}, 1
  while at <= #ARGV[6] do
    local n = #ids + 1
    ids[n], names[n], tails[n], at = struct.unpack('>c16I2c0I4c0', ARGV[6], at)
  end
  promote()
  fetch_groups(names)
  local kinds = parked_kinds(ids)
  local is_full = head.full > 0 and memory_percent() >= head.full
  local opened, count_opened = {}, 0

  local function refill(n, kind)
    local id, tail, g = ids[n], tails[n], group(names[n])
    local due, rank, _, sequence = struct.unpack(TAIL, tail)
    if is_far(due) then
      if kind == ROOM then
        unpark(id, kind, g)
        park_for_time(id, due)
      else
        note_wake(due)
      end
      return
    end
    if (is_full and head.queued >= head.floor) or is_crowded(g, rank) then
      if kind == TIME then
        unpark(id, kind, g)
        park_for_room(id, g)
      end
      return
    end
    unpark(id, kind, g)
    head.queued, count_opened = head.queued + 1, count_opened + 1
    opened[#opened + 1] = id
    opened[#opened + 1] = new_slot(QUEUED, place(id, due, rank, g), sequence, tail)
  end

  for n, id in ipairs(ids) do
    local kind = kinds[id]
    kinds[id] = nil
    if kind then refill(n, kind) end
  end
  if ARGV[5] == 'end' or ARGV[5] == 'whole' then head.wake = head.wake_next end
  bulk('HSET', key.entries, opened)
  write_parked()
  write_entries()
  write_groups()
  write_head(tostring(count_opened))
  return {DONE, count_opened}
end
