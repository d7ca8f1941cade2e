-- Part of the scripts that touch the seen-sets: fingerprints by scope, in two generations.
--
-- keys: `seen:<generation>:<scope>:<bucket>` (set of at most 512 integers, so that it stays packed),
--   `seen-sizes:<generation>` (hash: scope, members and buckets), `seen-tokens:<generation>` (hash: entry id,
--   seed); all of a generation expire together when it has passed twice its age
-- arguments: ARGV[4] age of a generation, ms
-- result: none
--
-- Buckets grow one at a time (linear hashing), so that no call ever splits them all. A fingerprint is a
-- text of 19 digits, because Lua's numbers end at 53 bits.
local MEMBERS_A_BUCKET = 205 -- on average; before its split a bucket has twice that

local age = tonumber(ARGV[4])
local generation = math.floor(now / age)
local sizes = {} -- by generation and scope

local function sizes_key(number)
  return base .. 'seen-sizes:' .. string.format('%.0f', number)
end

local function tokens_key(number)
  return base .. 'seen-tokens:' .. string.format('%.0f', number)
end

local function expire(key, number)
  redis.call('PEXPIREAT', key, string.format('%.0f', (number + 2) * age))
end

local function size(number, scope)
  local field = string.format('%.0f:%s', number, scope)
  if not sizes[field] then
    local packed = redis.call('HGET', sizes_key(number), scope)
    local made = {generation = number, scope = scope, members = 0, buckets = 1}
    if packed then made.members, made.buckets = struct.unpack('>I4I4', packed) end
    made.prefix = base .. 'seen:' .. field .. ':'
    made.level = 1
    while made.level * 2 <= made.buckets do made.level = made.level * 2 end
    sizes[field] = made
  end
  return sizes[field]
end

local function bucket(s, fingerprint)
  local hash = tonumber(string.sub(fingerprint, -9))
  local number = hash % (s.level * 2)
  if number >= s.buckets then number = hash % s.level end
  return number
end

-- One more bucket: takes about half of the members of the one that it is split from.
local function split(s)
  local old = s.prefix .. (s.buckets - s.level)
  local new = s.prefix .. s.buckets
  local number = s.buckets
  s.buckets = s.buckets + 1
  if s.buckets == s.level * 2 then s.level = s.buckets end
  local going = {}
  for _, member in ipairs(redis.call('SMEMBERS', old)) do
    if bucket(s, member) == number then going[#going + 1] = member end
  end
  if #going > 0 then
    bulk('SREM', old, going)
    bulk('SADD', new, going)
    expire(new, s.generation)
  end
end

local function by_bucket(s, fingerprints)
  local lists = {}
  for _, fingerprint in ipairs(fingerprints) do
    local number = bucket(s, fingerprint)
    local list = lists[number]
    if not list then
      list = {}
      lists[number] = list
    end
    list[#list + 1] = fingerprint
  end
  return lists
end

local function add_seen(number, scope, fingerprints)
  local s = size(number, scope)
  while s.members + #fingerprints > s.buckets * MEMBERS_A_BUCKET do split(s) end
  for which, list in pairs(by_bucket(s, fingerprints)) do
    local key = s.prefix .. which
    local added = redis.call('SADD', key, unpack(list))
    s.members = s.members + added
    -- It was empty before: it is new, or all had been forgotten.
    if added > 0 and redis.call('SCARD', key) == added then expire(key, number) end
  end
  local packed = struct.pack('>I4I4', s.members, s.buckets)
  if redis.call('HSET', sizes_key(number), scope, packed) == 1 then expire(sizes_key(number), number) end
end

-- Says for each fingerprint whether it is known: a table from text to true.
local function known(scope, fingerprints)
  local found = {}
  for number = generation, generation - 1, -1 do
    local s = size(number, scope)
    if s.members > 0 then
      for which, list in pairs(by_bucket(s, fingerprints)) do
        for first = 1, #list, 4000 do
          local last = math.min(first + 3999, #list)
          local are = redis.call('SMISMEMBER', s.prefix .. which, unpack(list, first, last))
          for index = 1, #are do
            if are[index] == 1 then found[list[first + index - 1]] = true end
          end
        end
      end
    end
  end
  return found
end

local function forget_seen(scope, fingerprint, id)
  for number = generation, generation - 1, -1 do
    local s = size(number, scope)
    if s.members > 0 and redis.call('SREM', s.prefix .. bucket(s, fingerprint), fingerprint) == 1 then
      s.members = s.members - 1
      redis.call('HSET', sizes_key(number), scope, struct.pack('>I4I4', s.members, s.buckets))
    end
    redis.call('HDEL', tokens_key(number), id)
  end
end

local function set_token(number, id, token)
  if redis.call('HSET', tokens_key(number), id, token) == 1 then expire(tokens_key(number), number) end
end
