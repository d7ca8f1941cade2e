-- Part of the functions that issue, start and end leases.
--
-- keys: `leases` (hash: sequence, packed record), `ends` (sorted set: sequence of a lease that runs or whose outcome is
--   not concluded, by the end of its time), `expired` (sorted set: sequence of a lease that expired and is not concluded,
--   by its expiry)
-- arguments: none of its own
-- result: none
local LEASE = '>I6BBBI6I6I7c16Bc0I2c0I4c0'
local ISSUED, STARTED = 0, 1
local RUNNING, EXPIRED, ENDED = 0, 1, 2
local OUTCOME_DECISION = 60000 -- ms; how long an outcome may wait for its conclusion
local NO_ENTRY = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

local leases -- by sequence; false where there is none
local changed_leases -- sequences whose records are to be written
local finished -- sequences that run no longer

local function begin_leases()
  leases, changed_leases, finished = {}, {}, {}
end

local function parsed_lease(sequence, packed)
  local epoch, state, progress, standalone, issued, expires, marked_us, id, nonce, name, request = struct.unpack(LEASE, packed)
  return {
    sequence = sequence, epoch = epoch, state = state, progress = progress, standalone = standalone, issued = issued,
    expires = expires, marked_us = marked_us, id = id, nonce = nonce, group = name, request = request, ends = expires,
  }
end

local function packed_lease(l)
  local nonce, name, request = l.nonce, l.group, l.request
  return struct.pack(LEASE, l.epoch, l.state, l.progress, l.standalone, l.issued, l.expires, l.marked_us, l.id,
    #nonce, nonce, #name, name, #request, request)
end

local function fetch_leases(sequences)
  local found = bulk_get(key.leases, sequences)
  for index = 1, #sequences do
    local sequence = sequences[index]
    if leases[sequence] == nil then
      leases[sequence] = found[index] and parsed_lease(sequence, found[index]) or false
    end
  end
end

-- Returns a lease; another epoch's with the same sequence is another lease.
local function lease(sequence, epoch)
  if leases[sequence] == nil then fetch_leases({sequence}) end
  local l = leases[sequence]
  if l and (epoch == nil or l.epoch == epoch) then return l end
end

local function add_lease(g, id, request, lease_ms)
  local sequence = head.sequence + 1
  head.sequence = sequence
  local l = {
    sequence = sequence, epoch = head.epoch, state = ISSUED, progress = RUNNING, issued = now,
    expires = now + lease_ms, marked_us = 0, id = id or NO_ENTRY, standalone = id and 0 or 1, nonce = '',
    group = g.name, request = request, ends = false,
  }
  leases[sequence], changed_leases[sequence] = l, true
  g.in_flight, g.unstarted, g.standalone = g.in_flight + 1, g.unstarted + 1, g.standalone + l.standalone
  return l
end

-- Frees the lease's request slot, if it still has one, and moves the clocks where a head was written.
local function end_lease(l, began)
  local g = group(l.group)
  if l.progress == RUNNING then
    g.in_flight, g.standalone = g.in_flight - 1, g.standalone - l.standalone
    if l.state == ISSUED then g.unstarted = g.unstarted - 1 end
    if g.in_flight == 0 then g.provisional_start = 0 end
    changed_leases[l.sequence] = true
    end_flow(g, l.sequence, began)
  end
  apply_delay(g, began)
end

-- Ends a request whose start was not reported: it started as late as it may have.
local function end_unreported(l)
  if l.progress ~= RUNNING then return end
  end_lease(l, l.state == STARTED and math.floor(l.marked_us / 1000) + START_TOLERANCE or 0)
  l.progress = ENDED
end

local function drop_lease(l)
  leases[l.sequence], changed_leases[l.sequence] = false, true
  if l.progress == EXPIRED then
    redis.call('ZREM', key.expired, l.sequence)
  else
    finished[#finished + 1] = l.sequence
  end
end

local function write_leases()
  local kept, many, gone, ends = {}, 0, {}, {}
  for sequence in pairs(changed_leases) do
    local l = leases[sequence]
    if l then
      kept[many + 1], kept[many + 2], many = sequence, packed_lease(l), many + 2
      if l.progress ~= EXPIRED and l.ends ~= l.expires then
        local last = #ends
        ends[last + 1], ends[last + 2] = l.expires, sequence
      end
    else
      gone[#gone + 1] = sequence
    end
  end
  bulk('HSET', key.leases, kept)
  bulk('HDEL', key.leases, gone)
  bulk('ZREM', key.ends, finished)
  bulk('ZADD', key.ends, ends)
end
