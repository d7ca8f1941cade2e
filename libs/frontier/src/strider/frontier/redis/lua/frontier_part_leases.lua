-- Part of the scripts that give, start and end leases.
--
-- keys: `leases` (hash: sequence, packed record), `ends` (sorted set: sequence of a lease that runs or
--   whose outcome is not decided about, when that is enough), `expired` (sorted set: sequence of a lease that ran out and is not concluded, when it did)
-- arguments: none of its own
-- result: none
local LEASE = '>I6BBBI6I6I7c16Bc0I2c0I4c0'
local ISSUED, STARTED = 0, 1
local RUNNING, EXPIRED, ENDED = 0, 1, 2
local UNDECIDED = 60000 -- how long an outcome may wait for what is decided about it
local NOBODY = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

local leases -- by sequence; false where there is none
local moved -- sequences whose records are to be written
local no_end -- sequences that run no longer

local function begin_leases()
  leases, moved, no_end = {}, {}, {}
end

local function parsed_lease(sequence, packed)
  local epoch, state, course, alone, issued, expires, marked_us, id, nonce, name, request = struct.unpack(LEASE, packed)
  return {
    sequence = sequence, epoch = epoch, state = state, course = course, alone = alone, issued = issued,
    expires = expires, marked_us = marked_us, id = id, nonce = nonce, group = name, request = request, ends = expires,
  }
end

local function packed_lease(l)
  local nonce, name, request = l.nonce, l.group, l.request
  return struct.pack(LEASE, l.epoch, l.state, l.course, l.alone, l.issued, l.expires, l.marked_us, l.id,
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

-- The lease of that name: another epoch's with the same number is another lease.
local function lease(sequence, epoch)
  if leases[sequence] == nil then fetch_leases({sequence}) end
  local l = leases[sequence]
  if l and (epoch == nil or l.epoch == epoch) then return l end
end

local function give_lease(g, id, request, lease_ms)
  local sequence = head.sequence + 1
  head.sequence = sequence
  local l = {
    sequence = sequence, epoch = head.epoch, state = ISSUED, course = RUNNING, issued = now,
    expires = now + lease_ms, marked_us = 0, id = id or NOBODY, alone = id and 0 or 1, nonce = '',
    group = g.name, request = request, ends = false,
  }
  leases[sequence], moved[sequence] = l, true
  g.flying, g.unstarted, g.holds = g.flying + 1, g.unstarted + 1, g.holds + l.alone
  return l
end

-- Gives the lease's place free, if it still has it, and moves the clock where a head was written.
local function end_lease(l, began)
  local g = group(l.group)
  if l.course == RUNNING then
    g.flying, g.holds = g.flying - 1, g.holds - l.alone
    if l.state == ISSUED then g.unstarted = g.unstarted - 1 end
    if g.flying == 0 then g.provisional = 0 end
    moved[l.sequence] = true
  end
  pass_time(g, began)
end

-- Ends a request whose beginning nobody has told: it began as late as it may have.
local function end_unasked(l)
  if l.course ~= RUNNING then return end
  end_lease(l, l.state == STARTED and math.floor(l.marked_us / 1000) + GRACE or 0)
  l.course = ENDED
end

local function drop_lease(l)
  leases[l.sequence], moved[l.sequence] = false, true
  if l.course == EXPIRED then
    redis.call('ZREM', key.expired, l.sequence)
  else
    no_end[#no_end + 1] = l.sequence
  end
end

local function write_leases()
  local kept, many, gone, ends = {}, 0, {}, {}
  for sequence in pairs(moved) do
    local l = leases[sequence]
    if l then
      kept[many + 1], kept[many + 2], many = sequence, packed_lease(l), many + 2
      if l.course ~= EXPIRED and l.ends ~= l.expires then
        local last = #ends
        ends[last + 1], ends[last + 2] = l.expires, sequence
      end
    else
      gone[#gone + 1] = sequence
    end
  end
  bulk('HSET', key.leases, kept)
  bulk('HDEL', key.leases, gone)
  bulk('ZREM', key.ends, no_end)
  bulk('ZADD', key.ends, ends)
end
