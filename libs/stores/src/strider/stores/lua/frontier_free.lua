-- End requests: places are free, clocks move; entries stay taken until they are concluded.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] outcomes: sequence and epoch of the lease, when its head was
--   written in ms (0: it was not), entry id, group
-- result: {0, one letter for each: C the outcome counts, S it is stale}; or a refusal
local refused = refusal('ready')
if refused then return refused end
local before = said_before('free')
if before then return {DONE, before} end

-- An outcome whose lease is gone counts where nobody else has the entry.
local function late(f)
  local s = slot(f.id)
  if not s or s.phase ~= QUEUED or f.sequence <= s.ended or leases[f.sequence] then return 'S' end
  leases[f.sequence] = {
    sequence = f.sequence, epoch = f.epoch, state = ISSUED, course = ENDED, issued = now, expires = now + UNDECIDED,
    marked_us = 0, id = f.id, alone = 0, nonce = '', group = f.group, request = '',
  }
  moved[f.sequence], changed[f.id] = true, true
  move(s, LEASED)
  s.held, s.ended = f.sequence, f.sequence
  return 'C'
end

local function freed(f)
  local l = lease(f.sequence, f.epoch)
  if not l then
    pass_time(group(f.group), math.min(f.began, now))
    return late(f)
  end
  local began = f.began
  -- What is told cannot lie before its mark, nor in the future.
  if began > 0 then began = math.min(math.max(began, math.floor(l.marked_us / 1000), l.issued), now) end
  end_lease(l, began)
  if l.course == EXPIRED then redis.call('ZREM', expired_key, text(l.sequence)) end
  l.course, l.expires = ENDED, now + UNDECIDED
  moved[l.sequence] = true
  if l.alone == 1 then return 'C' end
  local s = slot(l.id)
  if not s or s.held ~= l.sequence then
    drop_lease(l)
    return 'S'
  end
  s.ended = l.sequence
  changed[l.id] = true
  return 'C'
end

local outcomes, sequences, ids, names, at = {}, {}, {}, {}, 1
while at <= #ARGV[5] do
  local f = {}
  f.sequence, f.epoch, f.began, f.id, f.group, at = struct.unpack('>I6I6I6c16I2c0', ARGV[5], at)
  local n = #outcomes + 1
  outcomes[n], sequences[n], ids[n], names[n] = f, f.sequence, f.id, f.group
end
fetch_leases(sequences)
fetch_slots(ids)
fetch_groups(names)
local letters = {}
for index, f in ipairs(outcomes) do letters[index] = freed(f) end
local reply = table.concat(letters)
write_leases()
write_entries()
write_groups()
write_head('free', reply)
return {DONE, reply}
