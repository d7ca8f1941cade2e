-- Issue leases for due entries, as a group's delay, block and request limit allow, best entries first.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] most leases to issue; ARGV[6] duration of an issued lease, ms;
--   ARGV[7] most expired leases to report
-- result: {0, now in ms, time of the next release in ms or nothing, given, expired}; or an ownership error. Given:
--   sequence and slot of each; expired: sequence, lease and slot (nothing for a standalone request) of each
local STALE_ITEMS_PER_CALL = 10000
local EXPIRED_PER_CALL = 1000
local REPLY_ITEM = '>I6'
local SLOT_HEAD = '>BI6'

local left, lease_ms, stale_items
local first_scores -- by name of a sorted set: the lowest score in it, false where it is empty
local given, many_given, said -- sequence and slot of each; sequences, packed
local new_slots, new_leases, new_ends -- what is written of them: names and values in turn

local function add_to_reply(sequence, packed)
  given[many_given + 1], given[many_given + 2] = sequence, packed
  many_given = many_given + 2
  said[many_given / 2] = struct.pack(REPLY_ITEM, sequence)
end

-- Leases a queued entry. Its slot stays bytes from the queue to the reply: most calls do nothing but this.
local function issue_lease(g, id, packed)
  local sequence, expires, name, n = head.sequence + 1, now + lease_ms, g.name, many_given
  head.sequence, head.queued = sequence, head.queued - 1
  g.in_flight, g.unstarted = g.in_flight + 1, g.unstarted + 1
  packed = struct.pack(SLOT_HEAD, LEASED, sequence) .. string.sub(packed, 8)
  new_slots[n + 1], new_slots[n + 2] = id, packed
  new_leases[n + 1] = sequence
  new_leases[n + 2] = struct.pack(LEASE, head.epoch, ISSUED, RUNNING, 0, now, expires, 0, id, 0, '', #name, name, 0, '')
  new_ends[n + 1], new_ends[n + 2] = expires, sequence
  add_to_reply(sequence, packed)
end

-- Most calls find nothing due: the first item of a set shows that, and the next due time.
local function first_score(name)
  local at = first_scores[name]
  if at == nil then
    at = tonumber(redis.call('ZRANGE', name, 0, 0, 'WITHSCORES')[2]) or false
    first_scores[name] = at
  end
  return at
end

local function is_any_due(name)
  local at = first_score(name)
  return at and at <= now
end

local function expire_leases()
  local over = redis.call('ZRANGEBYSCORE', key.ends, '-inf', now, 'LIMIT', 0, EXPIRED_PER_CALL)
  if #over == 0 then return end
  local sequences, ids, names, expired = {}, {}, {}, {}
  for index, sequence in ipairs(over) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for index, sequence in ipairs(sequences) do
    local l = leases[sequence]
    ids[index] = l and l.id or NO_ENTRY
    if l then names[#names + 1] = l.group end
  end
  fetch_slots(ids)
  fetch_groups(names)
  for index, sequence in ipairs(sequences) do
    local l, s = leases[sequence], slots[ids[index]]
    if not l then
      finished[#finished + 1] = sequence
    else
      end_unreported(l)
      if l.standalone == 1 or (s and s.held == sequence) then
        l.progress = EXPIRED
        changed_leases[sequence] = true
        finished[#finished + 1] = sequence
        expired[#expired + 1], expired[#expired + 2] = l.expires, sequence
      else
        drop_lease(l)
      end
    end
  end
  bulk('ZADD', key.expired, expired)
end

-- Removes and returns the first entry of a queue of a group; stale items are skipped.
local function pop(g, priority)
  local name = key.queue[priority] .. g.name
  while g[priority] > 0 and stale_items < STALE_ITEMS_PER_CALL do
    local item = redis.call('LPOP', name)
    if not item then
      g[priority] = 0
      return
    end
    g[priority] = g[priority] - 1
    local id, ticket = struct.unpack(QUEUE_ITEM, item)
    local packed = redis.call('HGET', key.entries, id)
    if packed then
      local phase, place_ticket = struct.unpack(SLOT_HEAD, packed)
      if phase == QUEUED and place_ticket == ticket then return id, packed end
    end
    stale_items = stale_items + 1
  end
end

local function release_group(g, priority)
  g.is_moved = true
  while left > 0 and g.due_priority == priority and g.due_since <= now and stale_items < STALE_ITEMS_PER_CALL do
    local id, packed = pop(g, priority)
    if id then
      issue_lease(g, id, packed)
      left = left - 1
    end
    reschedule(g)
  end
end

local function release()
  for priority = 3, 0, -1 do
    local name = key.due[priority]
    while left > 0 and stale_items < STALE_ITEMS_PER_CALL and is_any_due(name) do
      local due = redis.call('ZRANGEBYSCORE', name, '-inf', now, 'LIMIT', 0, math.min(left, 1000))
      fetch_groups(due)
      for index = 1, #due do
        local g = group(due[index])
        if g.due_priority ~= priority or g.due_since > now then
          g.written_priority, g.written_since, g.is_touched = priority, -1, true -- the record wins over this set
        end
        release_group(g, priority)
      end
      write_groups()
      first_scores = {}
    end
  end
end

-- Repeats a lost reply: its leases that still run.
local function reissue(packed)
  local at = 1
  while at <= #packed do
    local sequence
    sequence, at = struct.unpack(REPLY_ITEM, packed, at)
    local l = lease(sequence)
    local s = l and l.progress == RUNNING and slot(l.id)
    if s and s.held == sequence then add_to_reply(sequence, packed_slot(s)) end
  end
end

local function expired_leases(most)
  local reply = {}
  local expired = redis.call('ZRANGE', key.expired, 0, most - 1)
  if #expired == 0 then return reply end
  local sequences = {}
  for index, sequence in ipairs(expired) do sequences[index] = tonumber(sequence) end
  fetch_leases(sequences)
  for index, sequence in ipairs(sequences) do
    local l = leases[sequence]
    if l then
      local s = l.standalone == 0 and slot(l.id)
      reply[#reply + 1], reply[#reply + 2] = sequence, packed_lease(l)
      reply[#reply + 1] = s and packed_slot(s) or false
    end
  end
  return reply
end

local function next_due()
  local first = false
  local due = key.due
  for _, name in ipairs({key.later, key.ends, due[0], due[1], due[2], due[3]}) do
    local at = first_score(name)
    if at and (not first or at < first) then first = at end
  end
  return first
end

return function()
  local refused = ownership_error('ready')
  if refused then return refused end
  left, lease_ms, stale_items = tonumber(ARGV[5]), tonumber(ARGV[6]), 0
  given, many_given, said = {}, 0, {}
  new_slots, new_leases, new_ends = {}, {}, {}
  local before = previous_reply()
  first_scores = {}
  if is_any_due(key.ends) or is_any_due(key.later) then
    expire_leases()
    promote()
    -- The due order may have changed; and what is queued is read as it is stored.
    write_leases()
    write_entries()
    write_groups()
    first_scores = {}
  end
  if before then reissue(before) else release() end
  bulk('HSET', key.entries, new_slots)
  bulk('HSET', key.leases, new_leases)
  bulk('ZADD', key.ends, new_ends)
  write_header(table.concat(said))
  return {DONE, now, next_due(), given, expired_leases(ARGV[7])}
end
