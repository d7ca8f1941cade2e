-- Record entries as seen without opening them: closed entries of the log, and seeds that join an open entry.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] entries, concatenated: scope, time in ms when it was seen, entry id,
--   fingerprint, token of the seed; ARGV[6] on: the seen scopes
-- result: {0}; or an ownership error
local CLOSED = '>I2I6c16c19I2c0'

return function()
  local refused = ownership_error('loading', 'ready')
  if refused then return refused end

  local packed, at = ARGV[5], 1
  local generations = {[generation] = {}, [generation - 1] = {}} -- by scope: fingerprints
  while at <= #packed do
    local scope, seen_at, id, fingerprint, token
    scope, seen_at, id, fingerprint, token, at = struct.unpack(CLOSED, packed, at)
    local number = math.min(math.floor(seen_at / age), generation)
    local by_scope = generations[number] -- what is older counts as new
    if by_scope then
      append_to(by_scope, scope, fingerprint)
      if token ~= '' then set_token(number, id, token) end
    end
  end
  for number, by_scope in pairs(generations) do
    for scope, list in pairs(by_scope) do add_seen(number, ARGV[scope + 6], list) end
  end
  return {DONE}
end
