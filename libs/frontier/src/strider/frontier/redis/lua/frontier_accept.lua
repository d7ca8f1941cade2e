-- Queue entries that are not open and record them as seen; or load what the log says.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] `accept` or `load`; ARGV[6] entries, concatenated: phase
--   (0 queued, 2 in the pipeline), scope, pace (0: none), entry id, fingerprint, group, token of the seed, tail of the
--   slot; ARGV[7] refused URLs: scope, fingerprint; ARGV[8] the paces; ARGV[9] on: the seen scopes
-- result: {0}; or an ownership error
local DROP_SEEN_PERCENT, DROPPED_PER_CALL = 95, 200
local RECORD, REFUSED = '>BI2I2c16c19I2c0I2c0I4c0', '>I2c19'

local is_load, is_full
local opened, many_opened -- slots to write: id, slot
local is_open -- by id
local paces -- of this call

local function remember(remembered, scope, fingerprint)
  local list = remembered[scope]
  if list then
    list[#list + 1] = fingerprint
  else
    remembered[scope] = {fingerprint}
  end
end

local function open(phase, id, name, pace, tail)
  local due, q, execution, sequence = struct.unpack(TAIL, tail)
  is_open[id] = true
  count('o', execution, 1)
  if not is_load then count('a', execution, 1) end
  local ticket, g = 0, group(name)
  if pace > 0 then
    local wanted = paces[pace]
    pace = open_pace(g, wanted, q)
    -- When the flow's last request was made is not known after a rebuild.
    if is_load and q >= 4 * FLOWS and wanted.delay ~= NO_DELAY then
      hold_flow(g, math.floor(q / 4), wanted.delay, now + wanted.delay, 0)
    end
  end
  if phase == IN_PIPELINE then
    head.in_pipeline = head.in_pipeline + 1
  else
    if is_deferred(due) then return park_deferred(id, due) end
    if (is_full and head.queued >= head.minimum_entries) or is_group_full(g, q) then return park_overflow(id, g) end
    head.queued = head.queued + 1
    ticket = enqueue(id, due, q, g)
  end
  local n = many_opened
  opened[n + 1], opened[n + 2], many_opened = id, new_slot(phase, ticket, sequence, pace, tail), n + 2
end

return function()
  is_load = ARGV[5] == 'load'
  local refused = ownership_error(is_load and 'loading' or 'ready')
  if refused then return refused end
  if previous_reply() then return {DONE} end

  -- Records as parallel lists: a table for each would cost more than everything else done with it.
  local phases, tokens, tails, ids, names, numbers = {}, {}, {}, {}, {}, {}
  local remembered = {} -- by scope: fingerprints
  local packed, at, n = ARGV[6], 1, 0
  while at <= #packed do
    local scope, fingerprint
    n = n + 1
    phases[n], scope, numbers[n], ids[n], fingerprint, names[n], tokens[n], tails[n], at =
      struct.unpack(RECORD, packed, at)
    remember(remembered, scope, fingerprint)
  end
  packed, at = ARGV[7], 1
  while at <= #packed do
    local scope, fingerprint
    scope, fingerprint, at = struct.unpack(REFUSED, packed, at)
    remember(remembered, scope, fingerprint)
  end

  local used_percent = head.memory_full_percent > 0 and memory_percent() or 0
  is_full = head.memory_full_percent > 0 and used_percent >= head.memory_full_percent
  opened, many_opened, is_open, paces = {}, 0, {}, read_paces(ARGV[8])
  promote()
  fetch_groups(names)
  local found = bulk_get(key.entries, ids)
  for id in pairs(parked_kinds(ids)) do is_open[id] = true end
  for index = 1, n do
    local id = ids[index]
    if tokens[index] ~= '' then set_token(generation, id, tokens[index]) end
    if not found[index] and not is_open[id] then open(phases[index], id, names[index], numbers[index], tails[index]) end
  end
  bulk('HSET', key.entries, opened)
  for scope, list in pairs(remembered) do add_seen(generation, ARGV[scope + 9], list) end
  if is_nearly_full(used_percent) then park_queued() end
  if used_percent >= DROP_SEEN_PERCENT then drop_old_seen(DROPPED_PER_CALL) end
  write_parked()
  write_entries()
  write_groups()
  write_header()
  return {DONE}
end
