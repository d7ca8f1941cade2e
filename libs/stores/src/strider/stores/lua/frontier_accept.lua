-- Queue entries that are not open, and remember what was seen; or put back what the log says.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] `accept` or `load`; ARGV[6] entries, one after the other:
--   phase (0 queued, 2 in the ring), scope, entry id, fingerprint, group, token of the seed, tail of the slot;
--   ARGV[7] refused URLs: scope, fingerprint; ARGV[8] on: the seen scopes
-- result: {0}; or a refusal
local SHED_PERCENT, SHED_A_CALL = 95, 200
local is_load = ARGV[5] == 'load'
local refused = refusal(is_load and 'loading' or 'ready')
if refused then return refused end
if said_before(ARGV[5]) then return {DONE} end

local remembered = {} -- by scope: fingerprints

local function remember(scope, fingerprint)
  local list = remembered[scope]
  if list then
    list[#list + 1] = fingerprint
  else
    remembered[scope] = {fingerprint}
  end
end

-- Records as lists side by side: a table for each would cost more than all else that is done with it.
local phases, scopes, fingerprints, tokens, tails = {}, {}, {}, {}, {}
local ids, names = {}, {}

local function read_records(packed)
  local at, n = 1, 0
  while at <= #packed do
    n = n + 1
    phases[n], scopes[n], ids[n], fingerprints[n], names[n], tokens[n], tails[n], at =
      struct.unpack('>BI2c16c19I2c0I2c0I4c0', packed, at)
  end
end

local opened = {} -- slots to be written: id, slot
local is_open = {} -- by id
local used_percent = head.full > 0 and memory_percent() or 0
local is_full = head.full > 0 and used_percent >= head.full

local function open(n)
  local id, tail, phase = ids[n], tails[n], phases[n]
  local due, rank, execution, sequence = struct.unpack(TAIL, tail)
  is_open[id] = true
  count('o', execution, 1)
  if not is_load then count('a', execution, 1) end
  local ticket = 0
  if phase == RING then
    head.ring = head.ring + 1
  else
    local g = group(names[n])
    if is_far(due) then return park_for_time(id, due) end
    if (is_full and head.queued >= head.floor) or is_crowded(g, rank) then return park_for_room(id, g) end
    head.queued = head.queued + 1
    ticket = place(id, due, rank, g)
  end
  opened[#opened + 1] = id
  opened[#opened + 1] = struct.pack(SLOT, phase, ticket, 0, sequence) .. tail
end

read_records(ARGV[6])
promote()
fetch_groups(names)
local found = bulk_get(entries_key, ids)
for id in pairs(parked_kinds(ids)) do is_open[id] = true end
for n, id in ipairs(ids) do
  remember(ARGV[scopes[n] + 8], fingerprints[n])
  if tokens[n] ~= '' then set_token(generation, id, tokens[n]) end
  if not found[n] and not is_open[id] then open(n) end
end
bulk('HSET', entries_key, opened)
local refusals, at = ARGV[7], 1
while at <= #refusals do
  local scope, fingerprint
  scope, fingerprint, at = struct.unpack('>I2c19', refusals, at)
  remember(ARGV[scope + 8], fingerprint)
end
for scope, list in pairs(remembered) do add_seen(generation, scope, list) end
if used_percent >= SHED_PERCENT then shed_seen(SHED_A_CALL) end
write_parked()
write_entries()
write_groups()
write_head(ARGV[5])
return {DONE}
