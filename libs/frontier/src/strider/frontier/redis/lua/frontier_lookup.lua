-- Return what is known of entries.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] lookups: scope, entry id, fingerprint; ARGV[6] on: the seen scopes
-- result: {0, for each: its slot or nothing where it is not open, 1 if it was seen and 2 if it is parked, token of its
--   seed or nothing}; or an ownership error
local QUESTION = '>I2c16c19'

return function()
  local refused = ownership_error('ready')
  if refused then return refused end

  local packed, at, n = ARGV[5], 1, 0
  local ids, scopes, fingerprints = {}, {}, {}
  while at <= #packed do
    n = n + 1
    scopes[n], ids[n], fingerprints[n], at = struct.unpack(QUESTION, packed, at)
  end
  local found = bulk_get(key.entries, ids)
  local new, old = bulk_get(tokens_key(generation), ids), bulk_get(tokens_key(generation - 1), ids)
  local asked, seen = {}, {} -- by scope: fingerprints, and which of them are known
  for index = 1, n do
    if not found[index] then append_to(asked, scopes[index], fingerprints[index]) end
  end
  for scope, list in pairs(asked) do seen[scope] = find_seen(ARGV[scope + 6], list) end
  local kinds = parked_kinds(ids)
  local reply, last = {DONE}, 1
  for index = 1, n do
    local slot_of = found[index]
    local is_seen = slot_of or seen[scopes[index]][fingerprints[index]]
    reply[last + 1] = slot_of
    reply[last + 2] = kinds[ids[index]] and 2 or is_seen and 1 or 0
    reply[last + 3] = new[index] or old[index]
    last = last + 3
  end
  return reply
end
