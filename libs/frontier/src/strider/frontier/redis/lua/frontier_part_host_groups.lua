-- Part of the functions that touch host groups: their delay clocks, request limits, and due order. The per-host delay is
-- enforced here, by apply_delay and reschedule.
--
-- keys: `groups` (hash: group, packed record), `due:<priority>` (sorted set: group, since when it is due)
-- arguments: ARGV[3] delay of groups that were never set, ms
-- result: none
local GROUP = '>I4I2I2I2I2BI6I6I6I6I4I4I4I4I4B'
local NO_QUEUE = -1
local START_TOLERANCE = 2000 -- ms; how long after its mark a request may still write its head

local groups -- by name; groups read in this call, changes included

local function begin_host_groups()
  groups = {}
end

-- Tables are constructed in one expression: one that grows field by field is reallocated at each power of two.
local function unpacked_group(name, packed)
  local delay, places, in_flight, unstarted, standalone, rank, since, clock, provisional_start, blocked, n0, n1, n2, n3, parked, refillable
  if packed then
    delay, places, in_flight, unstarted, standalone, rank, since, clock, provisional_start, blocked, n0, n1, n2, n3, parked,
      refillable = struct.unpack(GROUP, packed)
    if rank == 255 then rank = NO_QUEUE end
  else
    delay, places, in_flight, unstarted, standalone, rank, since = tonumber(ARGV[3]), 1, 0, 0, 0, NO_QUEUE, 0
    clock, provisional_start, blocked, n0, n1, n2, n3, parked, refillable = 0, 0, 0, 0, 0, 0, 0, 0, 0
  end
  local g = {
    name = name, packed = packed, delay = delay, max_in_flight = places, in_flight = in_flight, unstarted = unstarted,
    standalone = standalone, due_priority = rank, due_since = since, next_start = clock, provisional_start = provisional_start, blocked = blocked,
    n1, n2, n3, [0] = n0, written_priority = rank, written_since = since, stale = false, pushes = false,
    overflow = parked, refillable = refillable, is_moved = false, is_touched = not packed,
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

-- Puts a group into the due order of its best entry, as delay, block and request limit allow; first come, first served.
local function reschedule(g)
  local eligible = g.next_start
  if g.blocked > eligible then eligible = g.blocked end
  if g.provisional_start > eligible then eligible = g.provisional_start end
  g.is_touched = true
  local is_waiting = g.due_priority ~= NO_QUEUE and g.due_since <= now and eligible <= now
  local rank = NO_QUEUE
  if g.in_flight < g.max_in_flight and g.standalone == 0 and (g.delay == 0 or g.unstarted == 0) then
    rank = g[3] > 0 and 3 or g[2] > 0 and 2 or g[1] > 0 and 1 or g[0] > 0 and 0 or NO_QUEUE
  end
  g.due_priority = rank
  if rank ~= NO_QUEUE and not is_waiting then g.due_since = eligible > now and eligible or now end
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
  local refillable = g.overflow > 0 and g[0] + g[1] + g[2] + g[3] <= few and 1 or 0
  head.refillable = head.refillable + refillable - g.refillable
  g.refillable = refillable
end

local function append_to(lists, priority, value, other)
  local list = lists[priority]
  if not list then
    list = {}
    lists[priority] = list
  end
  local many = #list + 1
  list[many] = value
  if other then list[many + 1] = other end
end

local function packed_group(g)
  return struct.pack(GROUP, g.delay, g.max_in_flight, g.in_flight, g.unstarted, g.standalone, g.due_priority == NO_QUEUE and 255 or g.due_priority,
    g.due_since, g.next_start, g.provisional_start, g.blocked, g[0], g[1], g[2], g[3], g.overflow, g.refillable)
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
      local was, rank = g.written_priority, g.due_priority
      if was ~= rank or (rank ~= NO_QUEUE and g.written_since ~= g.due_since) then
        if was ~= NO_QUEUE and was ~= rank then append_to(gone, was, name) end
        if rank ~= NO_QUEUE then append_to(come, rank, g.due_since, name) end
        g.written_priority, g.written_since = rank, g.due_since
      end
    end
  end
  bulk('HSET', key.groups, records)
  for priority, names in pairs(gone) do bulk('ZREM', key.due[priority], names) end
  for priority, pairs_of in pairs(come) do bulk('ZADD', key.due[priority], pairs_of) end
end
