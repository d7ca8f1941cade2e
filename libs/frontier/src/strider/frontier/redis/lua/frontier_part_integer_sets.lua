-- Part of the scripts that touch large sets of numbers: each is spread over buckets that stay packed.
--
-- keys: whatever prefix a set has, and a bucket's number behind it (set of at most 512 integers, so that it
--   stays packed); a hash of sizes (set: members and buckets)
-- arguments: none of its own
-- result: none
--
-- Buckets grow one at a time (linear hashing), so that no call ever splits them all. A member is a text of 19
-- digits, because Lua's numbers end at 53 bits.
local MEMBERS_A_BUCKET = 205 -- on average; before its split a bucket has twice that
local FEW_A_BUCKET = 32 -- on average; with more no bucket is empty, as members are spread by their hash

local number_sets -- by the hash of their sizes and name

local function begin_buckets()
  number_sets = {}
end

-- The set of that name; `until_ms` is when it expires, nothing for never.
local function number_set(sizes, name, prefix, until_ms)
  local field = sizes .. ' ' .. name
  local s = number_sets[field]
  if not s then
    local packed = redis.call('HGET', sizes, name)
    s = {sizes = sizes, name = name, prefix = prefix, until_ms = until_ms, members = 0, buckets = 1, level = 1}
    if packed then s.members, s.buckets = struct.unpack('>I4I4', packed) end
    while s.level * 2 <= s.buckets do s.level = s.level * 2 end
    number_sets[field] = s
  end
  return s
end

local function expire_with(s, name)
  if s.until_ms then redis.call('PEXPIREAT', name, s.until_ms) end
end

-- One more bucket: takes about half of the members of the one that it is split from.
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

-- Gives members by the number of their bucket, which their last nine digits say.
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

-- Gives an empty set its buckets for so many members at once: to split them one by one reads each member twice.
local function widen(s, members)
  if s.members > 0 or s.buckets > 1 then return end
  s.buckets = math.max(1, math.ceil(members / MEMBERS_A_BUCKET))
  while s.level * 2 <= s.buckets do s.level = s.level * 2 end
  write_size(s)
end

local function add_members(s, members)
  local before, buckets = s.members, s.buckets
  while before + #members > s.buckets * MEMBERS_A_BUCKET do split(s) end
  local may_be_empty = s.until_ms and before < s.buckets * FEW_A_BUCKET
  for which, list in pairs(by_bucket(s, members)) do
    local name = s.prefix .. which
    local added = redis.call('SADD', name, unpack(list))
    s.members = s.members + added
    -- It was empty before: it is new, or all had been taken out.
    if may_be_empty and added > 0 and redis.call('SCARD', name) == added then expire_with(s, name) end
  end
  if s.members ~= before or s.buckets ~= buckets then write_size(s) end
end

-- Takes members out; says how many there were.
local function remove_members(s, members)
  if s.members == 0 or #members == 0 then return 0 end
  local before = s.members
  for which, list in pairs(by_bucket(s, members)) do
    s.members = s.members - redis.call('SREM', s.prefix .. which, unpack(list))
  end
  if s.members ~= before then write_size(s) end
  return before - s.members
end

-- Notes in `found` which of these are members.
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

-- Drops at most so many buckets of one of the sets of a hash of sizes; false where there is none left.
-- `prefix_of` gives the prefix of a name.
local function drop_buckets(sizes, prefix_of, budget)
  local name = redis.call('HRANDFIELD', sizes)
  if not name then return false end
  local s = number_set(sizes, name, prefix_of(name))
  local dropped = 0
  while s.buckets > 0 and dropped < budget do
    s.buckets, dropped = s.buckets - 1, dropped + 1
    redis.call('UNLINK', s.prefix .. s.buckets)
  end
  if s.buckets > 0 then
    redis.call('HSET', sizes, name, struct.pack('>I4I4', s.members, s.buckets))
  else
    redis.call('HDEL', sizes, name)
    number_sets[sizes .. ' ' .. name] = nil
  end
  return true
end
