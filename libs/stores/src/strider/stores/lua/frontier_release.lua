-- Write leases for what is due: a group's clock, block and places allowing, best entries first.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] most leases to give; ARGV[6] how long an issued lease
--   lasts, ms; ARGV[7] most leases to name that ran out
-- result: {0, now in ms, when to look again in ms or nothing, given, expired}; or a refusal. Given: sequence
--   and slot of each; expired: sequence, lease and slot (nothing for a lone request) of each
local GHOSTS_A_CALL = 10000
local EXPIRIES_A_CALL = 1000

local refused = refusal('ready')
if refused then return refused end

local function expire_leases()
  local over = redis.call('ZRANGEBYSCORE', ends_key, '-inf', text(now), 'LIMIT', 0, EXPIRIES_A_CALL)
  if #over == 0 then return end
  local sequences, ids, names, expired = {}, {}, {}, {}
  for index, sequence in ipairs(over) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for index, sequence in ipairs(sequences) do
    local l = leases[sequence]
    ids[index], names[index] = l and l.id or NOBODY, l and l.group or nil
  end
  fetch_slots(ids)
  fetch_groups(names)
  for index, sequence in ipairs(sequences) do
    local l, s = leases[sequence], slots[ids[index]]
    if not l then
      no_end[#no_end + 1] = over[index]
    else
      end_unasked(l)
      if l.alone == 1 or (s and s.held == sequence) then
        l.course = EXPIRED
        moved[sequence] = true
        no_end[#no_end + 1] = over[index]
        expired[#expired + 1], expired[#expired + 2] = text(l.expires), over[index]
      else
        drop_lease(l)
      end
    end
  end
  bulk('ZADD', expired_key, expired)
end

local ghosts = 0

-- Takes the first entry out of a queue of a group; the places of entries that went elsewhere are skipped.
local function pop(g, priority)
  local key = queue_key(priority, g.name)
  g.is_moved = true
  while g[priority] > 0 and ghosts < GHOSTS_A_CALL do
    local item = redis.call('LPOP', key)
    if not item then
      g[priority] = 0
      return
    end
    g[priority] = g[priority] - 1
    local id, ticket = struct.unpack('>c16I4', item)
    local s = slot(id)
    if s and s.phase == QUEUED and s.ticket == ticket then return id, s end
    ghosts = ghosts + 1
  end
end

local given = {}
local left = tonumber(ARGV[5])

local function serve(g, priority)
  while left > 0 and g.rank == priority and g.since <= now and ghosts < GHOSTS_A_CALL do
    local id, s = pop(g, priority)
    if id then
      local l = give_lease(g, id, '', tonumber(ARGV[6]))
      move(s, LEASED)
      s.held = l.sequence
      changed[id] = true
      given[#given + 1], given[#given + 2] = text(l.sequence), packed_slot(s)
      left = left - 1
    end
    refresh(g)
  end
end

local function release()
  for priority = 3, 0, -1 do
    while left > 0 and ghosts < GHOSTS_A_CALL do
      write_groups()
      local due = redis.call(
        'ZRANGEBYSCORE', base .. 'due:' .. priority, '-inf', text(now), 'LIMIT', 0, math.min(left, 1000))
      if #due == 0 then break end
      fetch_groups(due)
      for _, name in ipairs(due) do
        local g = group(name)
        if g.rank ~= priority or g.since > now then
          g.was_rank, g.was_since = priority, -1 -- the record is right, whatever stands here
        end
        serve(g, priority)
      end
    end
  end
end

-- A lost answer is given again: what it named and still runs.
local function given_before(packed)
  local at = 1
  while at <= #packed do
    local sequence
    sequence, at = struct.unpack('>I6', packed, at)
    local l = lease(sequence)
    local s = l and l.course == RUNNING and slot(l.id)
    if s and s.held == sequence then
      given[#given + 1], given[#given + 2] = text(sequence), packed_slot(s)
    end
  end
end

local function named()
  local reply = {}
  local expired = redis.call('ZRANGE', expired_key, 0, ARGV[7] - 1)
  local sequences = {}
  for index, sequence in ipairs(expired) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for index, sequence in ipairs(sequences) do
    local l = leases[sequence]
    if l then
      local s = l.alone == 0 and slot(l.id)
      reply[#reply + 1], reply[#reply + 2] = expired[index], packed_lease(l)
      reply[#reply + 1] = s and packed_slot(s) or false
    end
  end
  return reply
end

local function next_look()
  local first
  local sets = {later_key, ends_key, base .. 'due:0', base .. 'due:1', base .. 'due:2', base .. 'due:3'}
  for _, key in ipairs(sets) do
    local at = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if at and (not first or at < first) then first = at end
  end
  return first or false
end

local before = said_before('release')
expire_leases()
promote()
write_pushes()
if before then given_before(before) else release() end
local said = {}
for index = 1, #given, 2 do said[#said + 1] = struct.pack('>I6', tonumber(given[index])) end
write_leases()
write_entries()
write_groups()
write_head('release', table.concat(said))
return {DONE, now, next_look(), given, named()}
