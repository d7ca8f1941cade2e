-- Part of every frontier script: the header of a shard, its fence, and the one clock.
--
-- keys: KEYS[1] header (hash) of the shard; all other keys of the shard begin alike and share its slot
-- arguments: ARGV[1] epoch of the caller; ARGV[2] nonce of the call; ARGV[3] delay of groups that were
--   never set, ms; ARGV[4] age of a seen generation, ms; the rest is each script's own
-- result: {0, …} done; {1} a newer owner has the shard; {2, why} the working set is not ready
local DONE, FENCED, NOT_READY = 0, 1, 2

local base = string.sub(KEYS[1], 1, -7) -- without `header`
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)

-- How the keys are laid out; FIELDS, which the loader puts before, names what a slot's tail holds.
local LAYOUT = '1'

local head = {}

-- A restarted or replaced server has another run id, and what it holds may be older than it looks.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function read_head()
  local values = redis.call('HMGET', KEYS[1], 'epoch', 'run', 'state', 'sequence', 'ticket', 'queued', 'ring',
    'layout')
  head.epoch, head.run, head.state = tonumber(values[1]), values[2], values[3] or 'absent'
  head.sequence, head.ticket = tonumber(values[4]) or 0, tonumber(values[5]) or 0
  head.queued, head.ring = tonumber(values[6]) or 0, tonumber(values[7]) or 0
  head.layout = values[8] or ''
end

local function is_layout()
  return head.layout == LAYOUT .. '-' .. FIELDS
end

-- For who reads no slots: the fields may be another version's.
local function is_readable()
  return head.state == 'ready' and head.run == run_id() and string.sub(head.layout, 1, #LAYOUT + 1) == LAYOUT .. '-'
end

-- Says why the caller may not; nothing where it may. `also` is a second state that will do.
local function refusal(wanted, also)
  read_head()
  local epoch = tonumber(ARGV[1])
  if not head.epoch then return {NOT_READY, 'it is absent'} end
  if head.epoch > epoch then return {FENCED} end
  if head.epoch < epoch then return {NOT_READY, 'it was not taken with this epoch'} end
  if head.state ~= wanted and head.state ~= also then return {NOT_READY, 'it is ' .. head.state} end
  if head.run ~= run_id() then return {NOT_READY, 'the server is another than before'} end
  if not is_layout() then return {NOT_READY, 'another version wrote it'} end
end

-- What was answered to this very call before; the last call of each kind is remembered.
local function said_before(kind)
  local kept = redis.call('HGET', KEYS[1], 'said-' .. kind)
  if kept and ARGV[2] ~= '' and string.sub(kept, 1, #ARGV[2]) == ARGV[2] then
    return string.sub(kept, #ARGV[2] + 1)
  end
end

local function write_head(kind, reply)
  redis.call('HSET', KEYS[1],
    'sequence', string.format('%.0f', head.sequence), 'ticket', string.format('%.0f', head.ticket),
    'queued', head.queued, 'ring', head.ring, 'said-' .. kind, ARGV[2] .. (reply or ''))
end

-- Variadic commands in pieces that fit Lua's stack; pairs stay together.
local function bulk(command, key, values)
  for first = 1, #values, 4000 do
    redis.call(command, key, unpack(values, first, math.min(first + 3999, #values)))
  end
end

local function bulk_get(key, fields)
  local found = {}
  for first = 1, #fields, 4000 do
    local part = redis.call('HMGET', key, unpack(fields, first, math.min(first + 3999, #fields)))
    for index = 1, #part do found[first + index - 1] = part[index] end
  end
  return found
end
