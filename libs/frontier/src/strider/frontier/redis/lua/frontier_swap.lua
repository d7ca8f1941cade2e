-- Replace leases by leases for other requests of their groups; the entries return to the heads of their queues.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] swaps: sequence and epoch of the lease, the request; ARGV[6] duration
--   of an issued lease, ms
-- result: {0, now in ms, for each the sequence of the new lease, or 0 where the lease was gone}; or an ownership error
return function()
  local refused = ownership_error('ready')
  if refused then return refused end

  local before = previous_reply()
  if before then
    local reply, at = {DONE, (struct.unpack('>I6', before))}, 7
    while at <= #before do
      reply[#reply + 1], at = struct.unpack('>I6', before, at)
    end
    return reply
  end

  local function swapped(sequence, epoch, request)
    local l = lease(sequence, epoch)
    if not l or l.progress ~= RUNNING or l.state ~= ISSUED then return 0 end
    local s = slot(l.id)
    if not s or s.held ~= sequence then return 0 end
    local g = group(l.group)
    g.in_flight, g.unstarted = g.in_flight - 1, g.unstarted - 1
    end_flow(g, l.sequence, 0)
    drop_lease(l)
    local standalone = add_lease(g, nil, request, tonumber(ARGV[6]))
    requeue(l.id, s, g, true)
    reschedule(g)
    return standalone.sequence
  end

  local reply, said, at = {DONE, now}, {struct.pack('>I6', now)}, 1
  while at <= #ARGV[5] do
    local sequence, epoch, request
    sequence, epoch, request, at = struct.unpack('>I6I6I4c0', ARGV[5], at)
    local new = swapped(sequence, epoch, request)
    reply[#reply + 1] = new
    said[#said + 1] = struct.pack('>I6', new)
  end
  write_leases()
  write_entries()
  write_groups()
  write_header(table.concat(said))
  return reply
end
