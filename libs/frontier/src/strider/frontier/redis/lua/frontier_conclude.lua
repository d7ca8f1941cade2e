-- Apply dispositions to entries, and end the named leases.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] conclusions: disposition (0 queue, 1 pipeline, 2 close, 3 close
--   and forget, 4 only end the lease), sequence and epoch of the lease (0: none), scope, entry id, fingerprint,
--   group, tail of the slot; ARGV[6] on: the seen scopes
-- result: {0}; or an ownership error
local QUEUE, TO_PIPELINE, FORGET, LEASE_ONLY = 0, 1, 3, 4
local CONCLUSION = '>BI6I6I2c16c19I2c0I4c0'

-- Conclusions as parallel lists: a table for each would cost as much as what is done with it.
local dispositions, named, epochs, scopes, ids, fingerprints, names, tails
local remembered -- by scope: fingerprints

local function read_conclusions(packed)
  local at, n = 1, 0
  dispositions, named, epochs, scopes, ids, fingerprints, names, tails = {}, {}, {}, {}, {}, {}, {}, {}
  while at <= #packed do
    n = n + 1
    dispositions[n], named[n], epochs[n], scopes[n], ids[n], fingerprints[n], names[n], tails[n], at =
      struct.unpack(CONCLUSION, packed, at)
  end
  return n
end

local function remember_closed(n)
  local scope = ARGV[scopes[n] + 6]
  if dispositions[n] == FORGET then
    forget_seen(scope, fingerprints[n], ids[n])
  else
    append_to(remembered, scope, fingerprints[n])
  end
end

local function close(n, s)
  move(s, LEASED) -- out of the counted phases
  count('o', s.execution, -1)
  slots[ids[n]], changed_entries[ids[n]] = false, true
  if s.pace > 0 then close_pace(group(names[n]), s.pace, s.queue) end
  remember_closed(n)
end

-- Closes an entry that was parked after the decision to close it.
local function close_parked(n)
  local id = ids[n]
  local is_closed = dispositions[n] ~= QUEUE and dispositions[n] ~= TO_PIPELINE and dispositions[n] ~= LEASE_ONLY
  if head.overflow == 0 or named[n] > 0 or not is_closed or parked_kinds({id})[id] ~= OVERFLOW then return end
  local g = group(names[n])
  unpark(id, OVERFLOW, g)
  local _, q, execution = struct.unpack(TAIL, tails[n])
  close_pace(g, 0, q)
  count('o', execution, -1)
  remember_closed(n)
end

local function update_open(n, s)
  local due, q, id = s.due, s.queue, ids[n]
  count('o', s.execution, -1)
  set_tail(s, tails[n])
  count('o', s.execution, 1)
  changed_entries[id] = true
  if dispositions[n] == TO_PIPELINE then
    move(s, IN_PIPELINE)
    s.held = 0
  elseif is_deferred(s.due) then
    move(s, LEASED) -- out of the counted phases
    slots[id] = false
    park_deferred(id, s.due)
  elseif s.phase ~= QUEUED or s.due ~= due or s.queue ~= q then
    requeue(id, s, group(names[n]))
  end
end

local function conclude(n)
  local l = named[n] > 0 and lease(named[n], epochs[n]) or nil
  if l then
    end_unreported(l)
    drop_lease(l)
  end
  local fate = dispositions[n]
  local s = fate ~= LEASE_ONLY and slot(ids[n])
  if not s then return close_parked(n) end
  local held = s.held
  local _, _, _, sequence = struct.unpack(TAIL, tails[n])
  local is_named = l and held == l.sequence
  if sequence < (held > 0 and held or s.sequence) and not is_named then return end
  if fate == QUEUE or fate == TO_PIPELINE then update_open(n, s) else close(n, s) end
  local had = held > 0 and lease(held) or nil
  if had and had.progress ~= RUNNING then drop_lease(had) end
end

-- Returns the groups whose queues, limits or paces change.
local function touched(many)
  local found = {}
  for n = 1, many do
    local l = named[n] > 0 and lease(named[n], epochs[n])
    if dispositions[n] ~= TO_PIPELINE and dispositions[n] ~= LEASE_ONLY then found[#found + 1] = names[n] end
    if l and l.progress == RUNNING then found[#found + 1] = l.group end
  end
  return found
end

return function()
  local refused = ownership_error('ready')
  if refused then return refused end
  if previous_reply() then return {DONE} end

  remembered = {}
  local many = read_conclusions(ARGV[5])
  local sequences = {}
  for n = 1, many do
    if named[n] > 0 then sequences[#sequences + 1] = named[n] end
  end
  promote()
  fetch_leases(sequences)
  fetch_slots(ids)
  fetch_groups(touched(many))
  for n = 1, many do conclude(n) end
  for scope, list in pairs(remembered) do add_seen(generation, scope, list) end
  write_leases()
  write_parked()
  write_entries()
  write_groups()
  write_header()
  return {DONE}
end
