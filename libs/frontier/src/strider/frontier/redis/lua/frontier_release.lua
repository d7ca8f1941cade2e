-- Issue leases for due entries, as a group's delay, block and request limit allow. Flows and priorities
-- take turns (frontier_part_turns).
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] most leases to issue; ARGV[6] duration of an issued lease, ms;
--   ARGV[7] most expired leases to report; ARGV[8] further leases, for owners' runs only
-- result: {0, now in ms, time of the next release in ms or nothing, given, expired}; or an ownership error. The
--   next release is an owner's where no others may be made. Given:
--   sequence and slot of each; expired: sequence, lease and slot (nothing for a standalone request) of each
local STALE_ITEMS_PER_CALL = 10000
local EXPIRED_PER_CALL = 1000
local REPLY_ITEM = '>I6'
local SLOT_HEAD = '>BI6'

local left, reserved, lease_ms, stale_items
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
local function pop(g, q)
  local name = queue_key(q, g.name)
  while g.queues[q] > 0 and stale_items < STALE_ITEMS_PER_CALL do
    local item = redis.call('LPOP', name)
    if not item then
      g.queues[q] = 0
      return
    end
    g.queues[q] = g.queues[q] - 1
    local id, ticket = struct.unpack(QUEUE_ITEM, item)
    local packed = redis.call('HGET', key.entries, id)
    if packed then
      local phase, place_ticket = struct.unpack(SLOT_HEAD, packed)
      if phase == QUEUED and place_ticket == ticket then return id, packed end
    end
    stale_items = stale_items + 1
  end
end

-- Leases the next entry of a due group; returns whether there was one.
local function release_next(g, q)
  g.is_moved = true
  local id, packed = pop(g, q)
  if id then
    issue_lease(g, id, packed)
    lease_flow(g, q, head.sequence)
    if left > 0 then left = left - 1 else reserved = reserved - 1 end
    g.turn = served_flow(g.turn, math.floor(q / 4))
  end
  reschedule(g)
  return id ~= nil
end

-- Reads the next part of a due order into its list; returns whether there was one. The order does not change before
-- `write_groups`.
local function read_due(list)
  list.names = redis.call('ZRANGEBYSCORE', due_key(list.queue), '-inf', now, 'LIMIT', list.read, list.most)
  list.read, list.at = list.read + list.most, 1
  fetch_groups(list.names)
  return #list.names > 0
end

-- Whether an entry of a queue may be released: beyond the limit only one of an owner's run.
local function has_room(q)
  return left > 0 or (reserved > 0 and q < 4 * FLOWS)
end

-- Returns the due orders in which groups are due: lists of names by queue, of which a part is read.
local function due_groups()
  local ready, queues, is_empty = {}, {}, false
  for _, q in ipairs(due_queues()) do
    local at = first_score(due_key(q))
    if not at then is_empty = true elseif at <= now and has_room(q) then queues[#queues + 1] = q end
  end
  local most = math.min(math.ceil((left + reserved) / math.max(#queues, 1)), 1000)
  for _, q in ipairs(queues) do
    ready[q] = {queue = q, read = 0, most = most}
    read_due(ready[q])
  end
  return ready, #queues > 0, is_empty
end

-- Takes the numbers of empty due orders out of the header.
local function forget_empty_queues()
  local letters = {}
  for _, q in ipairs(due_queues()) do
    if first_score(due_key(q)) then letters[#letters + 1] = string.char(q) end
  end
  head.due = table.concat(letters)
  redis.call('HSET', KEYS[1], 'due', head.due)
end

local function take_next(ready, q)
  local list = ready[q]
  local g = group(list.names[list.at])
  list.at = list.at + 1
  if list.at > #list.names and (#list.names < list.most or not read_due(list)) then ready[q] = nil end
  return g
end

-- Puts a group that is still due before the others of its queue.
local function put_back(ready, g)
  local list = ready[g.due_queue]
  if list and list.at > 1 then
    list.at = list.at - 1
    list.names[list.at] = g.name
  elseif list then
    table.insert(list.names, 1, g.name)
  else
    ready[g.due_queue] = {names = {g.name}, at = 1, most = math.huge}
  end
end

local function release()
  while left + reserved > 0 and stale_items < STALE_ITEMS_PER_CALL do
    local ready, is_any, is_empty = due_groups()
    if is_empty then forget_empty_queues() end
    if not is_any then break end
    while left + reserved > 0 and stale_items < STALE_ITEMS_PER_CALL do
      if left == 0 then
        for q in pairs(ready) do
          if not has_room(q) then ready[q] = nil end
        end
      end
      local q, place = next_due_queue(ready)
      if not q then break end
      local g = take_next(ready, q)
      if g.due_queue ~= q or g.due_since > now then
        g.written_queue, g.written_since, g.is_touched = q, -1, true -- the record wins over this set
      else
        if release_next(g, q) then serve_due_queue(q, place) end
        if g.due_queue ~= NO_QUEUE and g.due_since <= now then put_back(ready, g) end
      end
    end
    write_groups()
    first_scores = {}
  end
  write_turns()
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

local function next_due(has_any_limit)
  local first, names = false, {key.later, key.ends}
  for _, q in ipairs(due_queues()) do
    if has_any_limit or q < 4 * FLOWS then names[#names + 1] = due_key(q) end
  end
  for _, name in ipairs(names) do
    local at = first_score(name)
    if at and (not first or at < first) then first = at end
  end
  return first
end

return function()
  local refused = ownership_error('ready')
  if refused then return refused end
  left, lease_ms, stale_items, reserved = tonumber(ARGV[5]), tonumber(ARGV[6]), 0, tonumber(ARGV[8])
  local has_any_limit = left > 0
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
  return {DONE, now, next_due(has_any_limit), given, expired_leases(ARGV[7])}
end
