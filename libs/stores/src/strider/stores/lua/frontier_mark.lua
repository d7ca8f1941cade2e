-- Mark leases as started: a compare-and-set for each, from whoever is about to make its request.
--
-- keys: KEYS[1] header of the shard
-- arguments: ARGV[1] nothing; ARGV[2] nonce of the caller; ARGV[3] and ARGV[4] as in frontier_part_shard; ARGV[5]
--   how long a started lease lasts, ms; ARGV[6] leases: sequence and epoch
-- result: {when the request may be taken as started, in us, or 0 where the lease is gone, of each…, now in us}
local is_ready = is_readable()

local function marked(sequence, epoch)
  local l = is_ready and lease(sequence, epoch)
  if not l or l.course ~= RUNNING then return 0 end
  if l.state == STARTED then return l.nonce == ARGV[2] and l.marked_us or 0 end
  if l.expires <= now then return 0 end
  l.state, l.nonce, l.marked_us, l.expires = STARTED, ARGV[2], now_us, now + tonumber(ARGV[5])
  moved[sequence] = true
  local g = group(l.group)
  g.unstarted = g.unstarted - 1
  if g.delay > 0 then -- without a delay nothing depends on when it begins
    g.provisional = math.max(g.provisional, now + GRACE + g.delay)
  end
  refresh(g)
  return now_us
end

local sequences, epochs, names, reply, at = {}, {}, {}, {}, 1
while at <= #ARGV[6] do
  local n = #sequences + 1
  sequences[n], epochs[n], at = struct.unpack('>I6I6', ARGV[6], at)
end
if is_ready then
  fetch_leases(sequences)
  for _, sequence in ipairs(sequences) do
    if leases[sequence] then names[#names + 1] = leases[sequence].group end
  end
  fetch_groups(names)
end
for index, sequence in ipairs(sequences) do reply[index] = marked(sequence, epochs[index]) end
reply[#reply + 1] = now_us
write_leases()
write_groups()
return reply
