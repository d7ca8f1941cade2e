-- Part of the functions that park entries: only in the log, and known to be there.
--
-- keys: `parked:<kind>:<bucket>` (set of integers, as in frontier_part_integer_sets: numbers of entry ids),
--   `parked-sizes` (hash: kind, members and buckets)
-- arguments: none of its own; the header says how many entries of a group may be queued, how far ahead an entry may be
--   due, and how full the server may be
-- result: none
--
-- Two kinds: overflow (`room`) waits until its group, or the server, has room again; deferred (`time`) until it is nearly
-- due. A group counts its overflow.
--
-- A parked entry needs memory too, a fifteenth of a queued one. Where that goes on filling the server, some queued entries
-- are parked after all: those that would have been released last.
local OVERFLOW, DEFERRED = 'room', 'time'
local GROUPS_PER_CALL, PARKED_PER_CALL = 40, 400

local added_integers, removed_integers -- by kind: numbers to be written, or taken out

local function begin_parked()
  added_integers, removed_integers = {}, {}
end

local function parked_sizes()
  return base .. 'parked-sizes'
end

local function parked_prefix(kind)
  return base .. 'parked:' .. kind .. ':'
end

local function parked_set(kind)
  return integer_set(parked_sizes(), kind, parked_prefix(kind))
end

-- Returns 61 bits of an entry id as 19 digits.
local function integer_of(id)
  local high, low = struct.unpack('>I4I4', id)
  return string.format('%.0f%010.0f', 100000000 + high % 800000000, low)
end

-- Returns which of these ids are parked: a table from id to kind.
local function parked_kinds(ids)
  local kinds = {}
  if head.overflow + head.deferred == 0 then return kinds end
  local numbers = {}
  for index, id in ipairs(ids) do numbers[index] = integer_of(id) end
  for kind, many in pairs({[OVERFLOW] = head.overflow, [DEFERRED] = head.deferred}) do
    if many > 0 then
      local found = {}
      find_members(parked_set(kind), numbers, found)
      for index, id in ipairs(ids) do
        if found[numbers[index]] then kinds[id] = kind end
      end
    end
  end
  return kinds
end

local function is_deferred(due)
  return head.horizon > 0 and due > now + head.horizon
end

local function park_overflow(id, g)
  append_to(added_integers, OVERFLOW, integer_of(id))
  head.overflow, g.overflow = head.overflow + 1, g.overflow + 1
  g.is_moved = true
end

local function park_deferred(id, due)
  append_to(added_integers, DEFERRED, integer_of(id))
  head.deferred = head.deferred + 1
  note_deferred_due(due)
end

local function unpark(id, kind, g)
  append_to(removed_integers, kind, integer_of(id))
  if kind == OVERFLOW then
    head.overflow, g.overflow = head.overflow - 1, math.max(g.overflow - 1, 0)
    g.is_moved = true
  else
    head.deferred = head.deferred - 1
  end
end

-- Each flow has room of its own in a group. High priority may use twice as much, so that it does not wait behind lower
-- ones.
local function is_group_full(g, q)
  if head.entries_per_group == 0 then return false end
  return queued_items(g, math.floor(q / 4)) >= (q % 4 == 3 and 2 or 1) * head.entries_per_group
end

local function memory_percent()
  local told = redis.call('INFO', 'memory')
  local most = tonumber(string.match(told, '\nmaxmemory:(%d+)')) or 0
  if most == 0 then return 0 end
  return 100 * tonumber(string.match(told, 'used_memory:(%d+)')) / most
end

-- Whether the server is halfway between the end of queueing and full.
local function is_nearly_full(used_percent)
  return head.memory_full_percent > 0 and used_percent >= (head.memory_full_percent + 100) / 2
end

-- Parks the last of a queue: only entries that no outcome can arrive for any more, as the log has all of them.
local function park_last(g, q, many)
  local name = queue_key(q, g.name)
  local items, ids, tickets = redis.call('RPOP', name, many), {}, {}
  if not items then return 0 end
  add_queued(g, q, -#items)
  g.stale, g.is_moved = true, true
  for index = 1, #items do ids[index], tickets[index] = struct.unpack(QUEUE_ITEM, items[index]) end
  local found, shelved, kept = bulk_get(key.entries, ids), 0, {}
  for index = #items, 1, -1 do
    local s = found[index] and parsed_slot(found[index])
    if s and s.phase == QUEUED and s.ticket == tickets[index] then
      if s.sequence <= s.ended then
        slots[ids[index]], changed_entries[ids[index]] = false, true
        head.queued, shelved = head.queued - 1, shelved + 1
        park_overflow(ids[index], g)
      else
        kept[#kept + 1] = items[index]
      end
    end
  end
  bulk('RPUSH', name, kept)
  add_queued(g, q, #kept)
  return shelved
end

-- Parks half of what some random groups have in their longest queue of the lowest priority.
local function park_queued()
  local budget = math.min(PARKED_PER_CALL, head.queued - head.minimum_entries)
  if budget <= 0 then return end
  local names = redis.call('HRANDFIELD', key.groups, GROUPS_PER_CALL)
  write_pushes()
  fetch_groups(names)
  for _, name in ipairs(names) do
    local g = group(name)
    local last
    for _, q in ipairs(g.numbers) do
      local items = g.queues[q]
      local is_lower = not last or q % 4 < last % 4 or (q % 4 == last % 4 and items > g.queues[last])
      if items > 0 and is_lower then last = q end
    end
    local many = last and math.min(math.ceil(g.queues[last] / 2), budget) or 0
    if many > 0 then budget = budget - park_last(g, last, many) end
  end
end

local function write_parked()
  for kind, numbers in pairs(removed_integers) do remove_members(parked_set(kind), numbers) end
  for kind, numbers in pairs(added_integers) do add_members(parked_set(kind), numbers) end
end
