-- Part of the functions that touch host groups: their delay clocks, request limits, and due order. The per-host delay is
-- enforced here, by apply_delay and reschedule.
--
-- keys: `groups` (hash: group, packed record), `due:<queue>` (sorted set: group whose next entry is in a queue of this
--   number, since when it is due)
-- arguments: ARGV[3] delay of groups that were never set, ms
-- result: none
--
-- A record ends with the overrides and the paces (frontier_part_paces). Delay, limit and block in its fixed part
-- follow from these; only functions that open or close entries read the rest, and those that lease a raw sender's.
local GROUP = '>I4I2I2I2I2I2I6I6I6I6I4BI2BB'
local GROUP_SIZE = 47
local QUEUE = '>BI4' -- number, items
local QUEUE_SIZE = 5
local NO_QUEUE = 65535
local START_TOLERANCE = 2000 -- ms; how long after its mark a request may still write its head

local groups -- by name; groups read in this call, changes included

local function begin_host_groups()
  groups = {}
end

-- Tables are constructed in one expression: one that grows field by field is reallocated at each power of two.
local function unpacked_group(name, packed)
  local delay, places, in_flight, unstarted, standalone, due, since, clock, provisional_start, blocked, parked, refillable
  local turn, many, many_clocks, queues, numbers, rest, clocks = NO_TURN, 0, 0, {}, {}, '', false
  if packed then
    delay, places, in_flight, unstarted, standalone, due, since, clock, provisional_start, blocked, parked, refillable,
      turn, many, many_clocks = struct.unpack(GROUP, packed)
    for index = 1, many do
      local q, items = struct.unpack(QUEUE, packed, GROUP_SIZE + 1 + (index - 1) * QUEUE_SIZE)
      numbers[index], queues[q] = q, items
    end
    local at = GROUP_SIZE + many * QUEUE_SIZE + 1
    if many_clocks > 0 then clocks, at = unpacked_clocks(packed, at, many_clocks) end
    rest = string.sub(packed, at)
  else
    delay, places, in_flight, unstarted, standalone, due, since = tonumber(ARGV[3]), 1, 0, 0, 0, NO_QUEUE, 0
    clock, provisional_start, blocked, parked, refillable = 0, 0, 0, 0, 0
  end
  local g = {
    name = name, packed = packed, delay = delay, max_in_flight = places, in_flight = in_flight, unstarted = unstarted,
    standalone = standalone, due_queue = due, due_since = since, next_start = clock, blocked = blocked,
    provisional_start = provisional_start, written_queue = due, written_since = since, stale = false, pushes = false,
    overflow = parked, refillable = refillable, is_moved = false, is_touched = not packed, turn = turn,
    queues = queues, numbers = numbers, rest = rest, paces = false, clocks = clocks,
  }
  groups[name] = g
  return g
end

-- Fetches many groups in one command.
local function fetch_groups(names)
  local wanted, asked, many = {}, {}, 0
  for index = 1, #names do
    local name = names[index]
    if not asked[name] and not groups[name] then
      many = many + 1
      wanted[many], asked[name] = name, true
    end
  end
  local found = bulk_get(key.groups, wanted)
  for index = 1, many do unpacked_group(wanted[index], found[index]) end
end

local function group(name)
  return groups[name] or unpacked_group(name, redis.call('HGET', key.groups, name))
end

-- Adds items to the count of a queue of a group, or takes them away.
local function add_queued(g, q, by)
  if not g.queues[q] then g.numbers[#g.numbers + 1] = q end
  g.queues[q] = (g.queues[q] or 0) + by
end

-- Returns how many items a group has queued; in one flow, if one is given.
local function queued_items(g, flow)
  local many = 0
  for q, items in pairs(g.queues) do
    if not flow or math.floor(q / 4) == flow then many = many + items end
  end
  return many
end

-- Puts a group into the due order of its next entry, as delay, block and request limit allow; first come, first served.
local function reschedule(g)
  local eligible = g.next_start
  if g.blocked > eligible then eligible = g.blocked end
  if g.provisional_start > eligible then eligible = g.provisional_start end
  g.is_touched = true
  local q
  if g.in_flight < g.max_in_flight and g.standalone == 0 and (g.delay == 0 or g.unstarted == 0) then
    q, eligible = next_turn(g, eligible)
  end
  local is_waiting = g.due_queue ~= NO_QUEUE and g.due_since <= now and eligible <= now
  g.due_queue = q or NO_QUEUE
  if q and not is_waiting then g.due_since = eligible > now and eligible or now end
end

-- Moves the earliest next request to start + delay; a start of 0 moves nothing.
local function apply_delay(g, began)
  if began > 0 then g.next_start = math.max(g.next_start, began + g.delay) end
  reschedule(g)
end

-- A group is refillable that has overflow and few queued entries: the log is read for its parked entries.
local function update_refillable(g)
  g.is_touched = true
  if g.overflow == 0 and g.refillable == 0 then return end
  local few = head.entries_per_group > 0 and math.floor(head.entries_per_group / 4) or 1000
  local refillable = g.overflow > 0 and queued_items(g) <= few and 1 or 0
  head.refillable = head.refillable + refillable - g.refillable
  g.refillable = refillable
end

local function append_to(lists, name, value, other)
  local list = lists[name]
  if not list then
    list = {}
    lists[name] = list
  end
  local many = #list + 1
  list[many] = value
  if other then list[many + 1] = other end
end

local function packed_group(g)
  if not g.rest then g.rest = packed_paces(g) end
  local queues, many = '', 0
  for _, q in ipairs(g.numbers) do
    local items = g.queues[q]
    if items > 0 then queues, many = queues .. struct.pack(QUEUE, q, items), many + 1 end
  end
  local clocks, many_clocks = packed_clocks(g)
  return struct.pack(GROUP, g.delay, g.max_in_flight, g.in_flight, g.unstarted, g.standalone, g.due_queue, g.due_since,
    g.next_start, g.provisional_start, g.blocked, g.overflow, g.refillable, g.turn, many, many_clocks) .. queues .. clocks .. g.rest
end

local function write_groups()
  local records, many, gone, come = {}, 0, {}, {}
  for name, g in pairs(groups) do
    if g.stale then
      reschedule(g)
      g.stale = false
    end
    if g.is_moved then update_refillable(g) end
    if g.is_touched then
      g.is_touched, g.is_moved = false, false
      local packed = packed_group(g)
      if packed ~= g.packed then
        records[many + 1], records[many + 2], many = name, packed, many + 2
        g.packed = packed
      end
      local was, q = g.written_queue, g.due_queue
      if was ~= q or (q ~= NO_QUEUE and g.written_since ~= g.due_since) then
        if was ~= NO_QUEUE and was ~= q then append_to(gone, was, name) end
        if q ~= NO_QUEUE then append_to(come, q, g.due_since, name) end
        g.written_queue, g.written_since = q, g.due_since
      end
    end
  end
  bulk('HSET', key.groups, records)
  for q, names in pairs(gone) do bulk('ZREM', due_key(q), names) end
  for q, pairs_of in pairs(come) do
    bulk('ZADD', due_key(q), pairs_of)
    note_due_queue(q)
  end
end
