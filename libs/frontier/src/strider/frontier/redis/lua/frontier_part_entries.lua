-- Part of the functions that move entries: their slots and queue items.
--
-- keys: `entries` (hash: entry id, slot), `queue:<queue>:<group>` (list: entry id and ticket), `later` (sorted set:
--   entry id, ticket, queue, group by due time), `counts` (hash: o or a, execution)
-- arguments: none of its own
-- result: none
--
-- A slot is 14 bytes that are written here (phase; ticket of its queue item while it is queued, or the lease that holds
-- it; last outcome counted; number of its pace in its group, 0 for none) and a tail that the owner writes: due time,
-- queue, number of the execution, fetch sequence, and the entry.
local QUEUED, LEASED, IN_PIPELINE = 0, 1, 2
local TAIL, WHOLE_SLOT, NEW_SLOT = '>I6BI3I6', '>BI6I6BI6BI3I6', '>BI6I6Bc0'
local SLOT_SIZE = 14
local QUEUE_ITEM = '>c16I4'
local PROMOTED_PER_CALL = 500

local slots -- by entry id; false where there is none
local changed_entries -- entry ids whose slots are to be written
local counted -- by `o` or `a`, and by execution

local function begin_entries()
  slots, changed_entries, counted = {}, {}, {o = {}, a = {}}
end

local function parsed_slot(packed)
  local phase, whose, ended, pace, due, q, execution, sequence = struct.unpack(WHOLE_SLOT, packed)
  return {
    phase = phase, ticket = phase == QUEUED and whose or 0, held = phase == LEASED and whose or 0, ended = ended,
    pace = pace, due = due, queue = q, execution = execution, sequence = sequence,
    tail = string.sub(packed, SLOT_SIZE + 1),
  }
end

local function fetch_slots(ids)
  local found = bulk_get(key.entries, ids)
  for index = 1, #ids do
    local id = ids[index]
    if slots[id] == nil then slots[id] = found[index] and parsed_slot(found[index]) or false end
  end
end

local function slot(id)
  local s = slots[id]
  if s == nil then
    local found = redis.call('HGET', key.entries, id)
    s = found and parsed_slot(found) or false
    slots[id] = s
  end
  return s
end

local function new_slot(phase, ticket, sequence, pace, tail)
  return struct.pack(NEW_SLOT, phase, ticket, sequence, pace, tail)
end

local function packed_slot(s)
  return struct.pack(NEW_SLOT, s.phase, s.phase == QUEUED and s.ticket or s.held, s.ended, s.pace, s.tail)
end

local function set_tail(s, tail)
  s.due, s.queue, s.execution, s.sequence = struct.unpack(TAIL, tail)
  s.tail = tail
end

local function count(kind, execution, by)
  local many = counted[kind]
  many[execution] = (many[execution] or 0) + by
end

local function move(s, phase)
  if s.phase == QUEUED then head.queued = head.queued - 1 elseif s.phase == IN_PIPELINE then head.in_pipeline = head.in_pipeline - 1 end
  if phase == QUEUED then head.queued = head.queued + 1 elseif phase == IN_PIPELINE then head.in_pipeline = head.in_pipeline + 1 end
  s.phase = phase
end

local function push(g, q, item, at_head)
  if at_head then
    redis.call('LPUSH', queue_key(q, g.name), item)
  else
    if not g.pushes then g.pushes = {} end
    local list = g.pushes[q]
    if list then
      list[#list + 1] = item
    else
      g.pushes[q] = {item}
    end
  end
  add_queued(g, q, 1)
  g.stale, g.is_moved = true, true
end

-- Assigns the next ticket, and puts the item into its queue, or into `later` until it is due.
local function enqueue(id, due, q, g, at_head)
  local ticket = (head.ticket + 1) % 4294967296
  head.ticket = ticket
  local item = struct.pack(QUEUE_ITEM, id, ticket)
  if due > now and not at_head then
    redis.call('ZADD', key.later, due, item .. string.char(q) .. g.name)
  else
    push(g, q, item, at_head)
  end
  return ticket
end

-- Queues an entry again; an older queue item becomes stale.
local function requeue(id, s, g, at_head)
  move(s, QUEUED)
  s.held, s.ticket = 0, enqueue(id, s.due, s.queue, g, at_head)
  changed_entries[id] = true
end

-- Moves entries that are due from `later` into their queues.
local function promote()
  local due = redis.call('ZRANGEBYSCORE', key.later, '-inf', now, 'LIMIT', 0, PROMOTED_PER_CALL)
  if #due == 0 then return end
  for _, member in ipairs(due) do
    push(group(string.sub(member, 22)), string.byte(member, 21), string.sub(member, 1, 20))
  end
  bulk('ZREM', key.later, due)
end

local function write_pushes()
  for name, g in pairs(groups) do
    if g.pushes then
      for q, items in pairs(g.pushes) do bulk('RPUSH', queue_key(q, name), items) end
      g.pushes = false
    end
  end
end

local function write_entries()
  write_pushes()
  local kept, gone, many = {}, {}, 0
  for id in pairs(changed_entries) do
    local s = slots[id]
    if s then
      kept[many + 1], kept[many + 2], many = id, packed_slot(s), many + 2
    else
      gone[#gone + 1] = id
    end
  end
  bulk('HSET', key.entries, kept)
  bulk('HDEL', key.entries, gone)
  for kind, many in pairs(counted) do
    for execution, by in pairs(many) do
      if by ~= 0 then redis.call('HINCRBY', key.counts, kind .. execution, by) end
    end
  end
end
