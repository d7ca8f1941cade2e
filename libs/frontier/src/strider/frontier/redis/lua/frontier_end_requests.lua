-- End requests: places are free, clocks move; entries stay taken until they are concluded.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] outcomes: sequence and epoch of the lease, when its head was
--   written in ms (0: it was not), entry id, group
-- result: {0, one letter for each: C the outcome counts, S it is stale}; or a refusal
local OUTCOME = '>I6I6I6c16I2c0'

-- An outcome whose lease is gone counts where nobody else has the entry.
local function late(sequence, epoch, id, name)
  local s = slot(id)
  if not s or s.phase ~= QUEUED or sequence <= s.ended or leases[sequence] then return 'S' end
  leases[sequence] = {
    sequence = sequence, epoch = epoch, state = ISSUED, course = ENDED, issued = now, expires = now + UNDECIDED,
    marked_us = 0, id = id, alone = 0, nonce = '', group = name, request = '', ends = false,
  }
  moved[sequence], changed[id] = true, true
  move(s, LEASED)
  s.held, s.ended = sequence, sequence
  return 'C'
end

local function freed(sequence, epoch, began, id, name)
  local l = lease(sequence, epoch)
  if not l then
    pass_time(group(name), math.min(began, now))
    return late(sequence, epoch, id, name)
  end
  -- What is told cannot lie before its mark, nor in the future.
  if began > 0 then began = math.min(math.max(began, math.floor(l.marked_us / 1000), l.issued), now) end
  end_lease(l, began)
  if l.course == EXPIRED then redis.call('ZREM', key.expired, sequence) end
  l.course, l.expires = ENDED, now + UNDECIDED
  moved[sequence] = true
  if l.alone == 1 then return 'C' end
  local s = slot(l.id)
  if not s or s.held ~= sequence then
    drop_lease(l)
    return 'S'
  end
  s.ended = sequence
  changed[l.id] = true
  return 'C'
end

return function()
  local refused = refusal('ready')
  if refused then return refused end
  local before = said_before()
  if before then return {DONE, before} end

  local packed, at, n = ARGV[5], 1, 0
  local sequences, epochs, begans, ids, names = {}, {}, {}, {}, {}
  while at <= #packed do
    n = n + 1
    sequences[n], epochs[n], begans[n], ids[n], names[n], at = struct.unpack(OUTCOME, packed, at)
  end
  fetch_leases(sequences)
  fetch_slots(ids)
  fetch_groups(names)
  local letters = {}
  for index = 1, n do
    letters[index] = freed(sequences[index], epochs[index], begans[index], ids[index], names[index])
  end
  local reply = table.concat(letters)
  write_leases()
  write_entries()
  write_groups()
  write_head(reply)
  return {DONE, reply}
end
