-- Give entries their fates, and end the leases that are named.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] conclusions: fate (0 queue, 1 ring, 2 close, 3 close and
--   forget, 4 only end the lease), sequence and epoch of the lease (0: none), scope, entry id, fingerprint,
--   group, tail of the slot; ARGV[6] on: the seen scopes
-- result: {0}; or a refusal
local QUEUE, TO_RING, FORGET, ONLY_LEASE = 0, 1, 3, 4
local CONCLUSION = '>BI6I6I2c16c19I2c0I4c0'

local remembered -- by scope: fingerprints

local function close(c, s)
  move(s, LEASED) -- out of the counted phases
  count('o', s.execution, -1)
  slots[c.id], changed[c.id] = false, true
  local scope = ARGV[c.scope + 6]
  if c.fate == FORGET then
    forget_seen(scope, c.fingerprint, c.id)
  else
    put(remembered, scope, c.fingerprint)
  end
end

local function go_on(c, s)
  local due, rank = s.due, s.rank
  count('o', s.execution, -1)
  set_tail(s, c.tail)
  count('o', s.execution, 1)
  changed[c.id] = true
  if c.fate == TO_RING then
    move(s, RING)
    s.held = 0
  elseif is_far(s.due) then
    move(s, LEASED) -- out of the counted phases
    slots[c.id] = false
    park_for_time(c.id, s.due)
  elseif s.phase ~= QUEUED or s.due ~= due or s.rank ~= rank then
    queue(c.id, s, group(c.group))
  end
end

local function conclude(c)
  local l = c.named > 0 and lease(c.named, c.epoch) or nil
  if l then
    end_unasked(l)
    drop_lease(l)
  end
  local s = c.fate ~= ONLY_LEASE and slot(c.id)
  if not s then return end
  local held = s.held
  local is_named = l and held == l.sequence
  if c.sequence < (held > 0 and held or s.sequence) and not is_named then return end
  if c.fate == QUEUE or c.fate == TO_RING then go_on(c, s) else close(c, s) end
  local had = held > 0 and lease(held) or nil
  if had and had.course ~= RUNNING then drop_lease(had) end
end

-- Groups whose queues or places change; most fates leave them alone.
local function touched(conclusions)
  local names = {}
  for _, c in ipairs(conclusions) do
    local l = c.named > 0 and lease(c.named, c.epoch)
    if c.fate == QUEUE then names[#names + 1] = c.group end
    if l and l.course == RUNNING then names[#names + 1] = l.group end
  end
  return names
end

return function()
  local refused = refusal('ready')
  if refused then return refused end
  if said_before() then return {DONE} end

  remembered = {}
  local conclusions, sequences, ids = {}, {}, {}
  local packed, at, n = ARGV[5], 1, 0
  while at <= #packed do
    local fate, named, epoch, scope, id, fingerprint, name, tail
    fate, named, epoch, scope, id, fingerprint, name, tail, at = struct.unpack(CONCLUSION, packed, at)
    local _, _, _, sequence = struct.unpack(TAIL, tail)
    n = n + 1
    conclusions[n] = {
      fate = fate, named = named, epoch = epoch, scope = scope, id = id, fingerprint = fingerprint, group = name,
      tail = tail, sequence = sequence,
    }
    ids[n] = id
    if named > 0 then sequences[#sequences + 1] = named end
  end
  promote()
  fetch_leases(sequences)
  fetch_slots(ids)
  fetch_groups(touched(conclusions))
  for index = 1, n do conclude(conclusions[index]) end
  for scope, fingerprints in pairs(remembered) do add_seen(generation, scope, fingerprints) end
  write_leases()
  write_parked()
  write_entries()
  write_groups()
  write_head()
  return {DONE}
end
