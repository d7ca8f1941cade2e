-- Part of the scripts that touch groups: their clocks and places, and who is served next.
--
-- keys: `groups` (hash: group, packed record), `due:<priority>` (sorted set: group, since when it waits)
-- arguments: ARGV[3] delay of groups that were never set, ms
-- result: none
local GROUP = '>I4I2I2I2I2BI6I6I6I6I4I4I4I4I4B'
local NOWHERE = -1
local GRACE = 2000 -- how long after its mark a request may still write its head

local groups_key = base .. 'groups'
local groups = {} -- by name; what was read in this call, changes included

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
    parked = parked, hungry = hungry, is_moved = false,
  }
  groups[name] = g
  return g
end

-- Brings many at once.
local function fetch_groups(names)
  local wanted, asked = {}, {}
  for _, name in ipairs(names) do
    if not groups[name] and not asked[name] then
      wanted[#wanted + 1], asked[name] = name, true
    end
  end
  local found = bulk_get(groups_key, wanted)
  for index, name in ipairs(wanted) do unpacked_group(name, found[index]) end
end

local function group(name)
  return groups[name] or unpacked_group(name, redis.call('HGET', groups_key, name))
end

-- Priority of its best entry, if one may go out as far as places decide it.
local function best(g)
  if g.flying >= g.places or g.holds > 0 or (g.delay > 0 and g.unstarted > 0) then return NOWHERE end
  for priority = 3, 0, -1 do
    if g[priority] > 0 then return priority end
  end
  return NOWHERE
end

-- Puts a group where it belongs now; first come, first served.
local function refresh(g)
  local eligible = math.max(g.clock, g.blocked, g.provisional)
  local is_waiting = g.rank ~= NOWHERE and g.since <= now and eligible <= now
  g.rank = best(g)
  if g.rank ~= NOWHERE and not is_waiting then g.since = math.max(eligible, now) end
end

-- A request's beginning pushes the next one by the delay; 0 for none.
local function pass_time(g, began)
  if began > 0 then g.clock = math.max(g.clock, began + g.delay) end
  refresh(g)
end

-- Hungry is a group that has entries parked, and few queued: the log is to be looked through for them.
local function feel(g)
  g.is_moved = false
  local few = head.cap > 0 and math.floor(head.cap / 4) or 1000
  local hungry = g.parked > 0 and g[0] + g[1] + g[2] + g[3] <= few and 1 or 0
  head.hungry = head.hungry + hungry - g.hungry
  g.hungry = hungry
end

local function write_groups()
  local records, gone, come = {}, {}, {}
  for priority = 0, 3 do gone[priority], come[priority] = {}, {} end
  for name, g in pairs(groups) do
    if g.stale then
      refresh(g)
      g.stale = false
    end
    if g.is_moved and (g.parked > 0 or g.hungry > 0) then feel(g) end
    local packed = struct.pack(GROUP, g.delay, g.places, g.flying, g.unstarted, g.holds,
      g.rank == NOWHERE and 255 or g.rank, g.since, g.clock, g.provisional, g.blocked, g[0], g[1], g[2], g[3],
      g.parked, g.hungry)
    if packed ~= g.packed then
      records[#records + 1], records[#records + 2] = name, packed
      g.packed = packed
    end
    if g.was_rank ~= g.rank or (g.rank ~= NOWHERE and g.was_since ~= g.since) then
      if g.was_rank ~= NOWHERE and g.was_rank ~= g.rank then
        gone[g.was_rank][#gone[g.was_rank] + 1] = name
      end
      if g.rank ~= NOWHERE then
        local list = come[g.rank]
        list[#list + 1], list[#list + 2] = string.format('%.0f', g.since), name
      end
      g.was_rank, g.was_since = g.rank, g.since
    end
  end
  bulk('HSET', groups_key, records)
  for priority = 0, 3 do
    bulk('ZREM', base .. 'due:' .. priority, gone[priority])
    bulk('ZADD', base .. 'due:' .. priority, come[priority])
  end
end
