-- Part of the functions that touch large sets of integers: each is spread over buckets that stay packed.
--
-- keys: the prefix of a set, followed by the number of a bucket (set of at most 512 integers, so that it stays packed);
--   a hash of sizes (set: members and buckets)
-- arguments: none of its own
-- result: none
--
-- Buckets grow one at a time (linear hashing), so that no call splits all of them. A member is a text of 19 digits,
-- because Lua's numbers end at 53 bits.
local MEMBERS_PER_BUCKET = 205 -- on average; before its split a bucket has twice that
local SPARSE_BUCKET = 32 -- on average; with more no bucket is empty, as members are spread by their hash

local integer_sets -- by the hash of their sizes and name

local function begin_integer_sets()
  integer_sets = {}
end

-- Returns the set of a name; `until_ms` is when it expires, nil for never.
local function integer_set(sizes, name, prefix, until_ms)
  local field = sizes .. ' ' .. name
  local s = integer_sets[field]
  if not s then
    local packed = redis.call('HGET', sizes, name)
    s = {sizes = sizes, name = name, prefix = prefix, until_ms = until_ms, members = 0, buckets = 1, level = 1}
    if packed then s.members, s.buckets = struct.unpack('>I4I4', packed) end
    while s.level * 2 <= s.buckets do s.level = s.level * 2 end
    integer_sets[field] = s
  end
  return s
end

local function expire_with(s, name)
  if s.until_ms then redis.call('PEXPIREAT', name, s.until_ms) end
end

-- Adds a bucket, with about half of the members of the one that is split.
local function split(s)
  local old = s.prefix .. (s.buckets - s.level)
  local new = s.prefix .. s.buckets
  local number, whole = s.buckets, s.level * 2
  s.buckets = s.buckets + 1
  if s.buckets == whole then s.level = s.buckets end
  local members, going, many = redis.call('SMEMBERS', old), {}, 0
  for index = 1, #members do
    local member = members[index]
    if tonumber(string.sub(member, -9)) % whole == number then
      many = many + 1
      going[many] = member
    end
  end
  if many > 0 then
    bulk('SREM', old, going)
    bulk('SADD', new, going)
    expire_with(s, new)
  end
end

-- Returns members by the number of their bucket, which follows from their last nine digits.
local function by_bucket(s, members)
  local lists, whole, half, buckets = {}, s.level * 2, s.level, s.buckets
  for index = 1, #members do
    local member = members[index]
    local hash = tonumber(string.sub(member, -9))
    local number = hash % whole
    if number >= buckets then number = hash % half end
    local list = lists[number]
    if list then
      list[#list + 1] = member
    else
      lists[number] = {member}
    end
  end
  return lists
end

local function write_size(s)
  if redis.call('HSET', s.sizes, s.name, struct.pack('>I4I4', s.members, s.buckets)) == 1 then
    expire_with(s, s.sizes)
  end
end

-- Creates the buckets of an empty set for so many members at once: splitting them one by one reads each member twice.
local function presize(s, members)
  if s.members > 0 or s.buckets > 1 then return end
  s.buckets = math.max(1, math.ceil(members / MEMBERS_PER_BUCKET))
  while s.level * 2 <= s.buckets do s.level = s.level * 2 end
  write_size(s)
end

local function add_members(s, members)
  local before, buckets = s.members, s.buckets
  while before + #members > s.buckets * MEMBERS_PER_BUCKET do split(s) end
  local may_be_empty = s.until_ms and before < s.buckets * SPARSE_BUCKET
  for which, list in pairs(by_bucket(s, members)) do
    local name = s.prefix .. which
    local added = redis.call('SADD', name, unpack(list))
    s.members = s.members + added
    -- It was empty before: it is new, or all members were removed.
    if may_be_empty and added > 0 and redis.call('SCARD', name) == added then expire_with(s, name) end
  end
  if s.members ~= before or s.buckets ~= buckets then write_size(s) end
end

-- Removes members; returns how many there were.
local function remove_members(s, members)
  if s.members == 0 or #members == 0 then return 0 end
  local before = s.members
  for which, list in pairs(by_bucket(s, members)) do
    s.members = s.members - redis.call('SREM', s.prefix .. which, unpack(list))
  end
  if s.members ~= before then write_size(s) end
  return before - s.members
end

-- Marks in `found` which of these are members.
local function find_members(s, members, found)
  if s.members == 0 then return end
  for which, list in pairs(by_bucket(s, members)) do
    for first = 1, #list, 4000 do
      local last = math.min(first + 3999, #list)
      local are = redis.call('SMISMEMBER', s.prefix .. which, unpack(list, first, last))
      for index = 1, #are do
        if are[index] == 1 then found[list[first + index - 1]] = true end
      end
    end
  end
end

-- Drops at most so many buckets of one of the sets of a hash of sizes; returns false where there is none left.
-- `prefix_of` returns the prefix of a name.
local function drop_buckets(sizes, prefix_of, budget)
  local name = redis.call('HRANDFIELD', sizes)
  if not name then return false end
  local s = integer_set(sizes, name, prefix_of(name))
  local dropped = 0
  while s.buckets > 0 and dropped < budget do
    s.buckets, dropped = s.buckets - 1, dropped + 1
    redis.call('UNLINK', s.prefix .. s.buckets)
  end
  if s.buckets > 0 then
    redis.call('HSET', sizes, name, struct.pack('>I4I4', s.members, s.buckets))
  else
    redis.call('HDEL', sizes, name)
    integer_sets[sizes .. ' ' .. name] = nil
  end
  return true
end
