-- Mark leases as started: a compare-and-set for each, just before its request is made.
--
-- keys: KEYS[1] header of the shard
-- arguments: ARGV[1] empty; ARGV[2] nonce of the caller; ARGV[3] and ARGV[4] as in frontier_part_shard; ARGV[5]
--   duration of a started lease, ms; ARGV[6] leases: sequence and epoch
-- result: {start time of the request in us, or 0 where the lease is gone, of each…, now in us}
local LEASE_NAME = '>I6I6'

local lease_ms

local function marked(sequence, epoch)
  local l = lease(sequence, epoch)
  if not l or l.progress ~= RUNNING then return 0 end
  if l.state == STARTED then return l.nonce == ARGV[2] and l.marked_us or 0 end
  if l.expires <= now then return 0 end
  l.state, l.nonce, l.marked_us, l.expires = STARTED, ARGV[2], now_us, now + lease_ms
  changed_leases[sequence] = true
  local g = group(l.group)
  g.unstarted = g.unstarted - 1
  if g.delay > 0 then -- without a delay nothing depends on when it begins
    g.provisional_start = math.max(g.provisional_start, now + START_TOLERANCE + g.delay)
  end
  reschedule(g)
  return now_us
end

return function()
  local packed, at, n = ARGV[6], 1, 0
  local sequences, epochs, names, reply = {}, {}, {}, {}
  lease_ms = tonumber(ARGV[5])
  while at <= #packed do
    n = n + 1
    sequences[n], epochs[n], at = struct.unpack(LEASE_NAME, packed, at)
  end
  local is_ready = is_ready_to_read()
  if is_ready then
    fetch_leases(sequences)
    for index = 1, n do
      local l = leases[sequences[index]]
      if l then names[#names + 1] = l.group end
    end
    fetch_groups(names)
  end
  for index = 1, n do reply[index] = is_ready and marked(sequences[index], epochs[index]) or 0 end
  reply[n + 1] = now_us
  write_leases()
  write_groups()
  return reply
end
