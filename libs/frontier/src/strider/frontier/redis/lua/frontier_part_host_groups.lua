-- Part of the functions that touch host groups: their delay clocks, request limits, and due order. The per-host delay is
-- enforced here, by apply_delay and reschedule.
--
-- keys: `groups` (hash: group, packed record), `due:<queue>` (sorted set: group whose next entry is in a queue of this
--   number, since when it is due)
-- arguments: ARGV[3] delay of groups that were never set, ms
-- result: none
--
-- A crawl spec sets a pace (delay, request limit, patience with a block), which counts in a group while an entry under
-- it is open there: the record ends with what the owner has set and the paces, each with its open entries. Delay, limit
-- and block in its fixed part follow from these; only functions that open or close entries read the rest.
local GROUP = '>I4I2I2I2I2I2I6I6I6I6I4BI2B'
local GROUP_SIZE = 46
local QUEUE = '>BI4' -- number, items
local QUEUE_SIZE = 5
local OWN = '>I4I4I2I6I6' -- delay and least delay, ms; request limit; start and end of a block, ms
local OWN_SIZE = 22
local PACE = '>BI4I4I2I4' -- number in the group, open entries; delay in ms, request limit, patience in s
local PACES_OF_CALL = '>I4I2I4'
local NO_DELAY, NO_PLACES = 4294967295, 65535 -- not set by the owner: by the paces
local MAX_PACES = 64
local NO_QUEUE = 65535
local START_TOLERANCE = 2000 -- ms; how long after its mark a request may still write its head

local groups -- by name; groups read in this call, changes included

local function begin_host_groups()
  groups = {}
end

-- Tables are constructed in one expression: one that grows field by field is reallocated at each power of two.
local function unpacked_group(name, packed)
  local delay, places, in_flight, unstarted, standalone, due, since, clock, provisional_start, blocked, parked, refillable
  local turn, many, queues, numbers, rest = NO_TURN, 0, {}, {}, ''
  if packed then
    delay, places, in_flight, unstarted, standalone, due, since, clock, provisional_start, blocked, parked, refillable,
      turn, many = struct.unpack(GROUP, packed)
    for index = 1, many do
      local q, items = struct.unpack(QUEUE, packed, GROUP_SIZE + 1 + (index - 1) * QUEUE_SIZE)
      numbers[index], queues[q] = q, items
    end
    rest = string.sub(packed, GROUP_SIZE + many * QUEUE_SIZE + 1)
  else
    delay, places, in_flight, unstarted, standalone, due, since = tonumber(ARGV[3]), 1, 0, 0, 0, NO_QUEUE, 0
    clock, provisional_start, blocked, parked, refillable = 0, 0, 0, 0, 0
  end
  local g = {
    name = name, packed = packed, delay = delay, max_in_flight = places, in_flight = in_flight, unstarted = unstarted,
    standalone = standalone, due_queue = due, due_since = since, next_start = clock, blocked = blocked,
    provisional_start = provisional_start, written_queue = due, written_since = since, stale = false, pushes = false,
    overflow = parked, refillable = refillable, is_moved = false, is_touched = not packed, turn = turn,
    queues = queues, numbers = numbers, rest = rest, paces = false,
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

-- Parses what the owner has set of a group, and its paces.
local function parse_paces(g)
  if g.paces then return g.paces end
  local paces, rest, many = {}, g.rest, 0
  g.paces = paces
  g.own_delay, g.least_delay, g.own_places, g.blocked_since, g.blocked_until = NO_DELAY, 0, NO_PLACES, 0, 0
  if rest == '' then return paces end
  local at
  g.own_delay, g.least_delay, g.own_places, g.blocked_since, g.blocked_until, at = struct.unpack(OWN, rest)
  while at <= #rest do
    local number, entries, delay, places, patience
    number, entries, delay, places, patience, at = struct.unpack(PACE, rest, at)
    many = many + 1
    paces[many] = {number = number, entries = entries, delay = delay, places = places, patience = patience}
  end
  return paces
end

local function packed_paces(g)
  local parts = {struct.pack(OWN, g.own_delay, g.least_delay, g.own_places, g.blocked_since, g.blocked_until)}
  for index, p in ipairs(g.paces) do
    parts[index + 1] = struct.pack(PACE, p.number, p.entries, p.delay, p.places, p.patience)
  end
  return table.concat(parts)
end

-- Sets delay, request limit and block of a group: the strictest of its paces, unless the owner has set them.
local function apply_paces(g)
  local delay, places, patience
  for _, p in ipairs(parse_paces(g)) do
    delay = math.max(delay or 0, p.delay)
    places = math.min(places or NO_PLACES, p.places)
    patience = math.min(patience or NO_DELAY, p.patience)
  end
  if g.own_delay ~= NO_DELAY then delay = g.own_delay end
  g.delay = math.max(delay or tonumber(ARGV[3]), g.least_delay)
  g.max_in_flight = g.own_places ~= NO_PLACES and g.own_places or places or 1
  g.blocked = g.blocked_until
  if g.blocked_since > 0 and patience then g.blocked = math.min(g.blocked, g.blocked_since + patience * 1000) end
  g.stale, g.is_touched, g.rest = true, true, false
end

-- Counts an open entry under the mildest pace that is no milder than its own, or else makes the strictest one as strict:
-- for groups with many different paces, whose record must not grow without bound.
local function share_pace(g, wanted)
  local shared, strictest
  for _, p in ipairs(g.paces) do
    local covers = p.delay >= wanted.delay and p.places <= wanted.places and p.patience <= wanted.patience
    if covers and (not shared or p.delay < shared.delay) then shared = p end
    if not strictest or p.delay > strictest.delay then strictest = p end
  end
  if not shared then
    shared = strictest
    shared.delay = math.max(shared.delay, wanted.delay)
    shared.places = math.min(shared.places, wanted.places)
    shared.patience = math.min(shared.patience, wanted.patience)
  end
  shared.entries = shared.entries + 1
  apply_paces(g)
  return shared.number
end

-- Counts an open entry under its pace; returns the number of that in the group.
local function open_pace(g, wanted)
  local paces, used = parse_paces(g), {}
  for _, p in ipairs(paces) do
    if p.delay == wanted.delay and p.places == wanted.places and p.patience == wanted.patience then
      p.entries = p.entries + 1
      g.is_touched, g.rest = true, false
      return p.number
    end
    used[p.number] = true
  end
  if #paces >= MAX_PACES then return share_pace(g, wanted) end
  local number = 1
  while used[number] do number = number + 1 end
  paces[#paces + 1] = {
    number = number, entries = 1, delay = wanted.delay, places = wanted.places, patience = wanted.patience,
  }
  apply_paces(g)
  return number
end

-- Ends the count of an entry under a pace. That of an entry without a slot is unknown: it is taken for the most frequent.
local function close_pace(g, number)
  local paces, found = parse_paces(g), nil
  for index, p in ipairs(paces) do
    if p.number == number then
      found = index
      break
    end
    if not found or p.entries > paces[found].entries then found = index end
  end
  if not found then return end
  local p = paces[found]
  p.entries = p.entries - 1
  g.is_touched, g.rest = true, false
  if p.entries > 0 then return end
  table.remove(paces, found)
  local before = g.delay
  apply_paces(g)
  -- The delay of a request in flight is never shortened: it counts from the latest time at which that may start.
  if g.delay < before then g.next_start = math.max(g.next_start, g.provisional_start) end
end

-- Returns the number of the pace of an entry that is counted already, and may have got another pace since.
local function pace_number(g, wanted)
  for _, p in ipairs(parse_paces(g)) do
    if p.delay == wanted.delay and p.places == wanted.places and p.patience == wanted.patience then return p.number end
  end
  close_pace(g, 0)
  return open_pace(g, wanted)
end

-- Parses the paces of a call, which its entries name by their place in this list; 0 is none.
local function read_paces(packed)
  local paces, at = {}, 1
  while at <= #packed do
    local p = {}
    p.delay, p.places, p.patience, at = struct.unpack(PACES_OF_CALL, packed, at)
    paces[#paces + 1] = p
  end
  return paces
end

-- Puts a group into the due order of its next entry, as delay, block and request limit allow; first come, first served.
local function reschedule(g)
  local eligible = g.next_start
  if g.blocked > eligible then eligible = g.blocked end
  if g.provisional_start > eligible then eligible = g.provisional_start end
  g.is_touched = true
  local is_waiting = g.due_queue ~= NO_QUEUE and g.due_since <= now and eligible <= now
  local q = NO_QUEUE
  if g.in_flight < g.max_in_flight and g.standalone == 0 and (g.delay == 0 or g.unstarted == 0) then
    q = next_queue(g.turn, g.queues) or NO_QUEUE
  end
  g.due_queue = q
  if q ~= NO_QUEUE and not is_waiting then g.due_since = eligible > now and eligible or now end
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
  return struct.pack(GROUP, g.delay, g.max_in_flight, g.in_flight, g.unstarted, g.standalone, g.due_queue, g.due_since,
    g.next_start, g.provisional_start, g.blocked, g.overflow, g.refillable, g.turn, many) .. queues .. g.rest
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
