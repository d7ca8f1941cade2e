-- Part of the scripts that touch groups: their clocks and places, and who is served next.
--
-- keys: `groups` (hash: group, packed record), `due:<priority>` (sorted set: group, since when it waits)
-- arguments: ARGV[3] delay of groups that were never set, ms
-- result: none
local GROUP = '>I4I2I2I2I2BI6I6I6I6I4I4I4I4I4B'
local NOWHERE = -1
local GRACE = 2000 -- how long after its mark a request may still write its head

local groups -- by name; what was read in this call, changes included

local function begin_groups()
  groups = {}
end

-- Tables are written out whole: one that grows field by field is moved about at each power of two.
local function unpacked_group(name, packed)
  local delay, places, flying, unstarted, holds, rank, since, clock, provisional, blocked, n0, n1, n2, n3, parked, hungry
  if packed then
    delay, places, flying, unstarted, holds, rank, since, clock, provisional, blocked, n0, n1, n2, n3, parked,
      hungry = struct.unpack(GROUP, packed)
    if rank == 255 then rank = NOWHERE end
  else
    delay, places, flying, unstarted, holds, rank, since = tonumber(ARGV[3]), 1, 0, 0, 0, NOWHERE, 0
    clock, provisional, blocked, n0, n1, n2, n3, parked, hungry = 0, 0, 0, 0, 0, 0, 0, 0, 0
  end
  local g = {
    name = name, packed = packed, delay = delay, places = places, flying = flying, unstarted = unstarted,
    holds = holds, rank = rank, since = since, clock = clock, provisional = provisional, blocked = blocked,
    n1, n2, n3, [0] = n0, was_rank = rank, was_since = since, stale = false, pushes = false,
    parked = parked, hungry = hungry, is_moved = false, is_touched = not packed,
  }
  groups[name] = g
  return g
end

-- Brings many at once.
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

-- Puts a group where it belongs now, by its best entry and as far as places decide it; first come, first served.
local function refresh(g)
  local eligible = g.clock
  if g.blocked > eligible then eligible = g.blocked end
  if g.provisional > eligible then eligible = g.provisional end
  g.is_touched = true
  local is_waiting = g.rank ~= NOWHERE and g.since <= now and eligible <= now
  local rank = NOWHERE
  if g.flying < g.places and g.holds == 0 and (g.delay == 0 or g.unstarted == 0) then
    rank = g[3] > 0 and 3 or g[2] > 0 and 2 or g[1] > 0 and 1 or g[0] > 0 and 0 or NOWHERE
  end
  g.rank = rank
  if rank ~= NOWHERE and not is_waiting then g.since = eligible > now and eligible or now end
end

-- A request's beginning pushes the next one by the delay; 0 for none.
local function pass_time(g, began)
  if began > 0 then g.clock = math.max(g.clock, began + g.delay) end
  refresh(g)
end

-- Hungry is a group that has entries parked, and few queued: the log is to be looked through for them.
local function feel(g)
  g.is_touched = true
  if g.parked == 0 and g.hungry == 0 then return end
  local few = head.cap > 0 and math.floor(head.cap / 4) or 1000
  local hungry = g.parked > 0 and g[0] + g[1] + g[2] + g[3] <= few and 1 or 0
  head.hungry = head.hungry + hungry - g.hungry
  g.hungry = hungry
end

local function put(lists, priority, value, other)
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
  return struct.pack(GROUP, g.delay, g.places, g.flying, g.unstarted, g.holds, g.rank == NOWHERE and 255 or g.rank,
    g.since, g.clock, g.provisional, g.blocked, g[0], g[1], g[2], g[3], g.parked, g.hungry)
end

local function write_groups()
  local records, many, gone, come = {}, 0, {}, {}
  for name, g in pairs(groups) do
    if g.stale then
      refresh(g)
      g.stale = false
    end
    if g.is_moved then feel(g) end
    if g.is_touched then
      g.is_touched, g.is_moved = false, false
      local packed = packed_group(g)
      if packed ~= g.packed then
        records[many + 1], records[many + 2], many = name, packed, many + 2
        g.packed = packed
      end
      local was, rank = g.was_rank, g.rank
      if was ~= rank or (rank ~= NOWHERE and g.was_since ~= g.since) then
        if was ~= NOWHERE and was ~= rank then put(gone, was, name) end
        if rank ~= NOWHERE then put(come, rank, g.since, name) end
        g.was_rank, g.was_since = rank, g.since
      end
    end
  end
  bulk('HSET', key.groups, records)
  for priority, names in pairs(gone) do bulk('ZREM', key.due[priority], names) end
  for priority, pairs_of in pairs(come) do bulk('ZADD', key.due[priority], pairs_of) end
end
