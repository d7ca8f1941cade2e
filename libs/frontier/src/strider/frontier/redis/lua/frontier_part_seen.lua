-- Part of the functions that touch the seen sets: fingerprints by scope, in two generations.
--
-- keys: `seen:<generation>:<scope>:<bucket>` (set of integers, as in frontier_part_integer_sets),
--   `seen-sizes:<generation>` (hash: scope, members and buckets), `seen-tokens:<generation>` (hash: entry id, seed); all
--   of a generation expire together when it is older than twice its age
-- arguments: ARGV[4] age of a generation, ms
-- result: none
local age, generation

local function begin_seen()
  age = tonumber(ARGV[4])
  generation = math.floor(now / age)
end

local function sizes_key(number)
  return base .. 'seen-sizes:' .. number
end

local function tokens_key(number)
  return base .. 'seen-tokens:' .. number
end

local function seen_prefix(number)
  return function(scope) return base .. 'seen:' .. number .. ':' .. scope .. ':' end
end

local function seen_set(number, scope)
  return integer_set(sizes_key(number), scope, seen_prefix(number)(scope), (number + 2) * age)
end

local function add_seen(number, scope, fingerprints)
  add_members(seen_set(number, scope), fingerprints)
end

-- Returns which fingerprints were seen: a table from text to true.
local function find_seen(scope, fingerprints)
  local found = {}
  for number = generation, generation - 1, -1 do find_members(seen_set(number, scope), fingerprints, found) end
  return found
end

local function forget_seen(scope, fingerprint, id)
  for number = generation, generation - 1, -1 do
    remove_members(seen_set(number, scope), {fingerprint})
    redis.call('HDEL', tokens_key(number), id)
  end
end

local function set_token(number, id, token)
  if redis.call('HSET', tokens_key(number), id, token) == 1 then
    redis.call('PEXPIREAT', tokens_key(number), (number + 2) * age)
  end
end

-- Drops some of the older generation: on a full server URLs seen a week ago count as new before the frontier stops.
local function drop_old_seen(budget)
  local old = generation - 1
  if not drop_buckets(sizes_key(old), seen_prefix(old), budget) then redis.call('UNLINK', tokens_key(old)) end
end
