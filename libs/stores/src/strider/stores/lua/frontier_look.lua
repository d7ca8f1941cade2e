-- Say what is known of entries.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] questions: scope, entry id, fingerprint; ARGV[6] on: the
--   seen scopes
-- result: {0, for each: its slot or nothing where it is not open, 1 if it was seen and 2 if it is parked,
--   token of its seed or nothing}; or a refusal
local refused = refusal('ready')
if refused then return refused end

local ids, asked, by_scope, at = {}, {}, {}, 1
while at <= #ARGV[5] do
  local scope, id, fingerprint
  scope, id, fingerprint, at = struct.unpack('>I2c16c19', ARGV[5], at)
  ids[#ids + 1], asked[#asked + 1] = id, {ARGV[scope + 6], fingerprint}
end
local found = bulk_get(entries_key, ids)
local new, old = bulk_get(tokens_key(generation), ids), bulk_get(tokens_key(generation - 1), ids)
for index, question in ipairs(asked) do
  if not found[index] then
    local list = by_scope[question[1]]
    if not list then
      list = {}
      by_scope[question[1]] = list
    end
    list[#list + 1] = question[2]
  end
end
for scope, fingerprints in pairs(by_scope) do by_scope[scope] = known(scope, fingerprints) end
local kinds = parked_kinds(ids)
local reply = {DONE}
for index, question in ipairs(asked) do
  local is_seen = found[index] or by_scope[question[1]][question[2]]
  reply[#reply + 1] = found[index]
  reply[#reply + 1] = kinds[ids[index]] and 2 or is_seen and 1 or 0
  reply[#reply + 1] = new[index] or old[index]
end
return reply
