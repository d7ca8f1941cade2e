-- End requests: request slots are free, clocks move; entries stay held until they are concluded.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] outcomes: sequence and epoch of the lease, time in ms when its
--   head was written (0: it was not), entry id, group
-- result: {0, one letter for each: C the outcome counts, S it is stale}; or an ownership error
local OUTCOME = '>I6I6I6c16I2c0'

-- Accepts an outcome whose lease is gone where no other lease holds the entry.
local function accept_late_outcome(sequence, epoch, id, name)
  local s = slot(id)
  if not s or s.phase ~= QUEUED or sequence <= s.ended or leases[sequence] then return 'S' end
  leases[sequence] = {
    sequence = sequence, epoch = epoch, state = ISSUED, progress = ENDED, issued = now, expires = now + OUTCOME_DECISION,
    marked_us = 0, id = id, standalone = 0, nonce = '', group = name, request = '', ends = false,
  }
  changed_leases[sequence], changed_entries[id] = true, true
  move(s, LEASED)
  s.held, s.ended = sequence, sequence
  return 'C'
end

-- Charges the flow of a lease, if its request took longer than a turn.
local function charge_time(l, took)
  local g, q = group(l.group), nil
  local turn = math.max(debts.TURN, g.delay)
  if took <= turn then return end
  if l.standalone == 1 then
    local _
    _, q = struct.unpack(TAIL, l.request)
  else
    local s = slot(l.id)
    q = s and s.queue
  end
  if q then debts.charge(g, math.floor(q / 4), took, turn) end
end

local function end_request(sequence, epoch, began, id, name)
  local l = lease(sequence, epoch)
  if not l then
    apply_delay(group(name), math.min(began, now))
    return accept_late_outcome(sequence, epoch, id, name)
  end
  -- A reported start is neither before the mark nor in the future.
  if began > 0 then began = math.min(math.max(began, math.floor(l.marked_us / 1000), l.issued), now) end
  if l.progress == RUNNING and l.state == STARTED then
    local took = now - math.floor(l.marked_us / 1000)
    if took > debts.TURN then charge_time(l, took) end
  end
  end_lease(l, began)
  if l.progress == EXPIRED then redis.call('ZREM', key.expired, sequence) end
  l.progress, l.expires = ENDED, now + OUTCOME_DECISION
  changed_leases[sequence] = true
  if l.standalone == 1 then return 'C' end
  local s = slot(l.id)
  if not s or s.held ~= sequence then
    drop_lease(l)
    return 'S'
  end
  s.ended = sequence
  changed_entries[l.id] = true
  return 'C'
end

return function()
  local refused = ownership_error('ready')
  if refused then return refused end
  local before = previous_reply()
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
    letters[index] = end_request(sequences[index], epochs[index], begans[index], ids[index], names[index])
  end
  local reply = table.concat(letters)
  write_leases()
  write_entries()
  write_groups()
  write_header(reply)
  return {DONE, reply}
end
