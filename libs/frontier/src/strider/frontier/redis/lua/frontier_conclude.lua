-- Give entries their fates, and end the leases that are named.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] conclusions: fate (0 queue, 1 ring, 2 close, 3 close and
--   forget, 4 only end the lease), sequence and epoch of the lease (0: none), scope, entry id, fingerprint,
--   group, tail of the slot; ARGV[6] on: the seen scopes
-- result: {0}; or a refusal
local QUEUE, TO_RING, FORGET, ONLY_LEASE = 0, 1, 3, 4
local CONCLUSION = '>BI6I6I2c16c19I2c0I4c0'

-- Conclusions as lists side by side: a table for each would cost as much as what is done with it.
local fates, named, epochs, scopes, ids, fingerprints, names, tails
local remembered -- by scope: fingerprints

local function read_conclusions(packed)
  local at, n = 1, 0
  fates, named, epochs, scopes, ids, fingerprints, names, tails = {}, {}, {}, {}, {}, {}, {}, {}
  while at <= #packed do
    n = n + 1
    fates[n], named[n], epochs[n], scopes[n], ids[n], fingerprints[n], names[n], tails[n], at =
      struct.unpack(CONCLUSION, packed, at)
  end
  return n
end

local function remember_closed(n)
  local scope = ARGV[scopes[n] + 6]
  if fates[n] == FORGET then
    forget_seen(scope, fingerprints[n], ids[n])
  else
    put(remembered, scope, fingerprints[n])
  end
end

local function close(n, s)
  move(s, LEASED) -- out of the counted phases
  count('o', s.execution, -1)
  slots[ids[n]], changed[ids[n]] = false, true
  remember_closed(n)
end

-- What was parked since somebody decided to close it.
local function close_parked(n)
  local id = ids[n]
  local is_closed = fates[n] ~= QUEUE and fates[n] ~= TO_RING and fates[n] ~= ONLY_LEASE
  if head.parked == 0 or named[n] > 0 or not is_closed or parked_kinds({id})[id] ~= ROOM then return end
  unpark(id, ROOM, group(names[n]))
  local _, _, execution = struct.unpack(TAIL, tails[n])
  count('o', execution, -1)
  remember_closed(n)
end

local function go_on(n, s)
  local due, rank, id = s.due, s.rank, ids[n]
  count('o', s.execution, -1)
  set_tail(s, tails[n])
  count('o', s.execution, 1)
  changed[id] = true
  if fates[n] == TO_RING then
    move(s, RING)
    s.held = 0
  elseif is_far(s.due) then
    move(s, LEASED) -- out of the counted phases
    slots[id] = false
    park_for_time(id, s.due)
  elseif s.phase ~= QUEUED or s.due ~= due or s.rank ~= rank then
    queue(id, s, group(names[n]))
  end
end

local function conclude(n)
  local l = named[n] > 0 and lease(named[n], epochs[n]) or nil
  if l then
    end_unasked(l)
    drop_lease(l)
  end
  local fate = fates[n]
  local s = fate ~= ONLY_LEASE and slot(ids[n])
  if not s then return close_parked(n) end
  local held = s.held
  local _, _, _, sequence = struct.unpack(TAIL, tails[n])
  local is_named = l and held == l.sequence
  if sequence < (held > 0 and held or s.sequence) and not is_named then return end
  if fate == QUEUE or fate == TO_RING then go_on(n, s) else close(n, s) end
  local had = held > 0 and lease(held) or nil
  if had and had.course ~= RUNNING then drop_lease(had) end
end

-- Groups whose queues or places change; most fates leave them alone.
local function touched(many)
  local found = {}
  for n = 1, many do
    local l = named[n] > 0 and lease(named[n], epochs[n])
    if fates[n] == QUEUE then found[#found + 1] = names[n] end
    if l and l.course == RUNNING then found[#found + 1] = l.group end
  end
  return found
end

return function()
  local refused = refusal('ready')
  if refused then return refused end
  if said_before() then return {DONE} end

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
  write_head()
  return {DONE}
end
