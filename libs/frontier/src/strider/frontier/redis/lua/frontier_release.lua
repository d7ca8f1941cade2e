-- Write leases for what is due: a group's clock, block and places allowing, best entries first.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] most leases to give; ARGV[6] how long an issued lease
--   lasts, ms; ARGV[7] most leases to name that ran out
-- result: {0, now in ms, when to look again in ms or nothing, given, expired}; or a refusal. Given: sequence
--   and slot of each; expired: sequence, lease and slot (nothing for a lone request) of each
local GHOSTS_A_CALL = 10000
local EXPIRIES_A_CALL = 1000
local SAID = '>I6'
local SLOT_HEAD = '>BI6'

local left, lease_ms, ghosts
local firsts -- by name of a sorted set: the lowest score in it, false where it is empty
local given, many_given, said -- sequence and slot of each; sequences, packed
local new_slots, new_leases, new_ends -- what is written of them: names and values in turn

local function give(sequence, packed)
  given[many_given + 1], given[many_given + 2] = sequence, packed
  many_given = many_given + 2
  said[many_given / 2] = struct.pack(SAID, sequence)
end

-- Leases an entry that waits. As bytes, from the queue to the answer: most calls do nothing but this.
local function lease_out(g, id, packed)
  local sequence, expires, name, n = head.sequence + 1, now + lease_ms, g.name, many_given
  head.sequence, head.queued = sequence, head.queued - 1
  g.flying, g.unstarted = g.flying + 1, g.unstarted + 1
  packed = struct.pack(SLOT_HEAD, LEASED, sequence) .. string.sub(packed, 8)
  new_slots[n + 1], new_slots[n + 2] = id, packed
  new_leases[n + 1] = sequence
  new_leases[n + 2] = struct.pack(LEASE, head.epoch, ISSUED, RUNNING, 0, now, expires, 0, id, 0, '', #name, name, 0, '')
  new_ends[n + 1], new_ends[n + 2] = expires, sequence
  give(sequence, packed)
end

-- Most looks find nothing due: the first of a set says so, and is what the next look goes by.
local function first_of(name)
  local at = firsts[name]
  if at == nil then
    at = tonumber(redis.call('ZRANGE', name, 0, 0, 'WITHSCORES')[2]) or false
    firsts[name] = at
  end
  return at
end

local function is_any_due(name)
  local at = first_of(name)
  return at and at <= now
end

local function expire_leases()
  local over = redis.call('ZRANGEBYSCORE', key.ends, '-inf', now, 'LIMIT', 0, EXPIRIES_A_CALL)
  if #over == 0 then return end
  local sequences, ids, names, expired = {}, {}, {}, {}
  for index, sequence in ipairs(over) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for index, sequence in ipairs(sequences) do
    local l = leases[sequence]
    ids[index] = l and l.id or NOBODY
    if l then names[#names + 1] = l.group end
  end
  fetch_slots(ids)
  fetch_groups(names)
  for index, sequence in ipairs(sequences) do
    local l, s = leases[sequence], slots[ids[index]]
    if not l then
      no_end[#no_end + 1] = sequence
    else
      end_unasked(l)
      if l.alone == 1 or (s and s.held == sequence) then
        l.course = EXPIRED
        moved[sequence] = true
        no_end[#no_end + 1] = sequence
        expired[#expired + 1], expired[#expired + 2] = l.expires, sequence
      else
        drop_lease(l)
      end
    end
  end
  bulk('ZADD', key.expired, expired)
end

-- Takes the first entry out of a queue of a group; the places of entries that went elsewhere are skipped.
local function pop(g, priority)
  local name = key.queue[priority] .. g.name
  while g[priority] > 0 and ghosts < GHOSTS_A_CALL do
    local item = redis.call('LPOP', name)
    if not item then
      g[priority] = 0
      return
    end
    g[priority] = g[priority] - 1
    local id, ticket = struct.unpack(PLACE, item)
    local packed = redis.call('HGET', key.entries, id)
    if packed then
      local phase, place_ticket = struct.unpack(SLOT_HEAD, packed)
      if phase == QUEUED and place_ticket == ticket then return id, packed end
    end
    ghosts = ghosts + 1
  end
end

local function serve(g, priority)
  g.is_moved = true
  while left > 0 and g.rank == priority and g.since <= now and ghosts < GHOSTS_A_CALL do
    local id, packed = pop(g, priority)
    if id then
      lease_out(g, id, packed)
      left = left - 1
    end
    refresh(g)
  end
end

local function release()
  for priority = 3, 0, -1 do
    local name = key.due[priority]
    while left > 0 and ghosts < GHOSTS_A_CALL and is_any_due(name) do
      local due = redis.call('ZRANGEBYSCORE', name, '-inf', now, 'LIMIT', 0, math.min(left, 1000))
      fetch_groups(due)
      for index = 1, #due do
        local g = group(due[index])
        if g.rank ~= priority or g.since > now then
          g.was_rank, g.was_since, g.is_touched = priority, -1, true -- the record is right, whatever stands here
        end
        serve(g, priority)
      end
      write_groups()
      firsts = {}
    end
  end
end

-- A lost answer is given again: what it named and still runs.
local function give_again(packed)
  local at = 1
  while at <= #packed do
    local sequence
    sequence, at = struct.unpack(SAID, packed, at)
    local l = lease(sequence)
    local s = l and l.course == RUNNING and slot(l.id)
    if s and s.held == sequence then give(sequence, packed_slot(s)) end
  end
end

local function named(most)
  local reply = {}
  local expired = redis.call('ZRANGE', key.expired, 0, most - 1)
  if #expired == 0 then return reply end
  local sequences = {}
  for index, sequence in ipairs(expired) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for index, sequence in ipairs(sequences) do
    local l = leases[sequence]
    if l then
      local s = l.alone == 0 and slot(l.id)
      reply[#reply + 1], reply[#reply + 2] = sequence, packed_lease(l)
      reply[#reply + 1] = s and packed_slot(s) or false
    end
  end
  return reply
end

local function next_look()
  local first = false
  local due = key.due
  for _, name in ipairs({key.later, key.ends, due[0], due[1], due[2], due[3]}) do
    local at = first_of(name)
    if at and (not first or at < first) then first = at end
  end
  return first
end

return function()
  local refused = refusal('ready')
  if refused then return refused end
  left, lease_ms, ghosts = tonumber(ARGV[5]), tonumber(ARGV[6]), 0
  given, many_given, said = {}, 0, {}
  new_slots, new_leases, new_ends = {}, {}, {}
  local before = said_before()
  firsts = {}
  if is_any_due(key.ends) or is_any_due(key.later) then
    expire_leases()
    promote()
    -- Who is due now may not have been; and what is queued is read as it stands there.
    write_leases()
    write_entries()
    write_groups()
    firsts = {}
  end
  if before then give_again(before) else release() end
  bulk('HSET', key.entries, new_slots)
  bulk('HSET', key.leases, new_leases)
  bulk('ZADD', key.ends, new_ends)
  write_head(table.concat(said))
  return {DONE, now, next_look(), given, named(ARGV[7])}
end
