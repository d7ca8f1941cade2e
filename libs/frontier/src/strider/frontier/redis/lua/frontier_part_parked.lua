-- Part of the scripts that park entries: what is only in the log, and that it is there.
--
-- keys: `parked:<kind>:<bucket>` (set of integers, as in frontier_part_buckets: numbers of entry ids),
--   `parked-sizes` (hash: kind, members and buckets)
-- arguments: none of its own; the header says how many entries of a group may be queued, how far ahead an
--   entry may be due, and how full the server may be
-- result: none
--
-- Two kinds: `room` waits until its group, or the server, has room again; `time` until it is nearly due. A
-- group knows how many of the first it has.
--
-- What is only in the log takes room too, a fifteenth of what a queued entry takes. Where a server goes on filling
-- up by that, some of what is queued is parked after all: those that would have come last.
local ROOM, TIME = 'room', 'time'
local GROUPS_A_CALL, SHELVED_A_CALL = 40, 400

local coming, going -- by kind: numbers to be written, or taken out

local function begin_parked()
  coming, going = {}, {}
end

local function parked_sizes()
  return base .. 'parked-sizes'
end

local function parked_prefix(kind)
  return base .. 'parked:' .. kind .. ':'
end

local function parked_set(kind)
  return number_set(parked_sizes(), kind, parked_prefix(kind))
end

-- 61 bits of an entry id as 19 digits.
local function number_of(id)
  local high, low = struct.unpack('>I4I4', id)
  return string.format('%.0f%010.0f', 100000000 + high % 800000000, low)
end

-- Says which of these ids are parked: a table from id to kind.
local function parked_kinds(ids)
  local kinds = {}
  if head.parked + head.asleep == 0 then return kinds end
  local numbers = {}
  for index, id in ipairs(ids) do numbers[index] = number_of(id) end
  for kind, many in pairs({[ROOM] = head.parked, [TIME] = head.asleep}) do
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

local function is_far(due)
  return head.horizon > 0 and due > now + head.horizon
end

local function park_for_room(id, g)
  put(coming, ROOM, number_of(id))
  head.parked, g.parked = head.parked + 1, g.parked + 1
  g.is_moved = true
end

local function park_for_time(id, due)
  put(coming, TIME, number_of(id))
  head.asleep = head.asleep + 1
  note_wake(due)
end

local function unpark(id, kind, g)
  put(going, kind, number_of(id))
  if kind == ROOM then
    head.parked, g.parked = head.parked - 1, math.max(g.parked - 1, 0)
    g.is_moved = true
  else
    head.asleep = head.asleep - 1
  end
end

-- High priority may use twice the room of a group: what is urgent does not wait behind what is not.
local function is_crowded(g, rank)
  if head.cap == 0 then return false end
  return g[0] + g[1] + g[2] + g[3] >= (rank == 3 and 2 or 1) * head.cap
end

local function memory_percent()
  local told = redis.call('INFO', 'memory')
  local most = tonumber(string.match(told, '\nmaxmemory:(%d+)')) or 0
  if most == 0 then return 0 end
  return 100 * tonumber(string.match(told, 'used_memory:(%d+)')) / most
end

-- Halfway between where queueing ends and a full server.
local function is_tight(used_percent)
  return head.full > 0 and used_percent >= (head.full + 100) / 2
end

-- Parks the last of a queue: only what no outcome can come for any more, as the log says all there is of it.
local function shelve_last(g, priority, many)
  local name = key.queue[priority] .. g.name
  local items, ids, tickets = redis.call('RPOP', name, many), {}, {}
  if not items then return 0 end
  g[priority] = g[priority] - #items
  g.stale, g.is_moved = true, true
  for index = 1, #items do ids[index], tickets[index] = struct.unpack(PLACE, items[index]) end
  local found, shelved, kept = bulk_get(key.entries, ids), 0, {}
  for index = #items, 1, -1 do
    local s = found[index] and parsed_slot(found[index])
    if s and s.phase == QUEUED and s.ticket == tickets[index] then
      if s.sequence <= s.ended then
        slots[ids[index]], changed[ids[index]] = false, true
        head.queued, shelved = head.queued - 1, shelved + 1
        park_for_room(ids[index], g)
      else
        kept[#kept + 1] = items[index]
      end
    end
  end
  bulk('RPUSH', name, kept)
  g[priority] = g[priority] + #kept
  return shelved
end

-- Parks half of what some groups, by chance, have queued at their lowest priority.
local function shelve()
  local budget = math.min(SHELVED_A_CALL, head.queued - head.floor)
  if budget <= 0 then return end
  local names = redis.call('HRANDFIELD', key.groups, GROUPS_A_CALL)
  write_pushes()
  fetch_groups(names)
  for _, name in ipairs(names) do
    local g = group(name)
    local priority = g[0] > 0 and 0 or g[1] > 0 and 1 or g[2] > 0 and 2 or 3
    local many = math.min(math.ceil(g[priority] / 2), budget)
    if many > 0 then budget = budget - shelve_last(g, priority, many) end
  end
end

local function write_parked()
  for kind, numbers in pairs(going) do remove_members(parked_set(kind), numbers) end
  for kind, numbers in pairs(coming) do add_members(parked_set(kind), numbers) end
end
