-- Part of every frontier script: the header of a shard, its fence, and the one clock.
--
-- keys: KEYS[1] header (hash) of the shard; all other keys of the shard begin alike and share its slot
-- arguments: ARGV[1] what the caller says of itself: its epoch, number of this call, greatest number of a call
--   that it had the answer of, and between which times (ms; 0 and 0: it does not know) the shard's clock must
--   stand; ARGV[2] nonce of the call; ARGV[3] delay of groups that were never set, ms; ARGV[4] age of a seen
--   generation, ms; the rest is each script's own
-- result: {0, …} done; {1} a newer owner has the shard; {2, why} the working set is not ready; {3} the server's
--   clock has jumped (frontier_shift mends that); {4, why} the server may throw away what it was given
--
-- The shard's time is the server's clock and the header's `offset`, which takes jumps of that clock out again;
-- it never goes back behind `at`, when the owner's last change was made.
local DONE, FENCED, NOT_READY, OFF_CLOCK, UNSAFE = 0, 1, 2, 3, 4

local base = string.sub(KEYS[1], 1, -7) -- without `header`

-- How the keys are laid out; FIELDS, which the loader puts before, names what a slot's tail holds.
local LAYOUT = '2'

local head = {}
local caller = {}

-- A restarted or replaced server has another run id, and what it holds may be older than it looks.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

do
  local function number(text)
    return tonumber(text) or 0
  end

  local values = redis.call('HMGET', KEYS[1], 'epoch', 'run', 'state', 'sequence', 'ticket', 'queued', 'ring',
    'layout', 'call', 'offset', 'at', 'parked', 'asleep', 'hungry', 'wake', 'wake-next', 'cap', 'horizon', 'full',
    'floor')
  head.epoch, head.run, head.state = tonumber(values[1]), values[2], values[3] or 'absent'
  head.sequence, head.ticket = number(values[4]), number(values[5])
  head.queued, head.ring = number(values[6]), number(values[7])
  head.layout = values[8] or ''
  head.call, head.offset, head.at = number(values[9]), number(values[10]), number(values[11])
  head.parked, head.asleep, head.hungry = number(values[12]), number(values[13]), number(values[14])
  head.wake, head.wake_next = number(values[15]), number(values[16])
  head.cap, head.horizon, head.full = number(values[17]), number(values[18]), number(values[19])
  head.floor = number(values[20])
  head.had_parked = head.parked + head.asleep + head.hungry + head.wake > 0
  local epoch, call, answered, earliest, latest = string.match(ARGV[1], '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  caller.epoch, caller.call, caller.answered = number(epoch), number(call), number(answered)
  caller.earliest, caller.latest = number(earliest), number(latest)
end

local time = redis.call('TIME')
local clock_us = time[1] * 1000000 + time[2] + head.offset * 1000
local now_us = math.max(clock_us, head.at * 1000)
local now = math.floor(now_us / 1000)

local function is_off_clock()
  local clock = clock_us / 1000
  return caller.latest > 0 and (clock < caller.earliest or clock > caller.latest)
end

-- Lets the shard's time go on from there, whatever the server's clock shows; says by how much that differs.
local function set_time(wanted)
  local by = wanted - math.floor(clock_us / 1000)
  head.offset = head.offset + by
  clock_us = clock_us + by * 1000
  now_us = math.max(clock_us, head.at * 1000)
  now = math.floor(now_us / 1000)
  redis.call('HSET', KEYS[1], 'offset', string.format('%.0f', head.offset))
  return by
end

-- Says why the server cannot be trusted to keep what it has; nothing where it can.
local function unsafe()
  local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:([%w-]+)')
  if policy and policy ~= 'noeviction' then
    return {UNSAFE, 'its maxmemory-policy is ' .. policy .. ', which throws away what it was given: set noeviction'}
  end
end

-- How much it has thrown away since it was started.
local function evicted()
  return string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)') or '0'
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
  if not head.epoch then return {NOT_READY, 'it is absent'} end
  if head.epoch > caller.epoch then return {FENCED} end
  if head.epoch < caller.epoch then return {NOT_READY, 'it was not taken with this epoch'} end
  if head.state ~= wanted and head.state ~= also then return {NOT_READY, 'it is ' .. head.state} end
  if head.run ~= run_id() then return {NOT_READY, 'the server is another than before'} end
  if not is_layout() then return {NOT_READY, 'another version wrote it'} end
  if head.call < caller.answered then return {NOT_READY, 'it is older than what it answered before'} end
  if is_off_clock() then return {OFF_CLOCK} end
end

-- What was answered to this very call before; the last call of each kind is remembered.
local function said_before(kind)
  local kept = redis.call('HGET', KEYS[1], 'said-' .. kind)
  if kept and ARGV[2] ~= '' and string.sub(kept, 1, #ARGV[2]) == ARGV[2] then
    return string.sub(kept, #ARGV[2] + 1)
  end
end

-- An entry sleeps until then: the earliest is when the next look through the log is due. What is met during a
-- round through the log makes the next round's.
local function note_wake(due)
  if head.wake == 0 or due < head.wake then head.wake = due end
  if head.wake_next == 0 or due < head.wake_next then head.wake_next = due end
end

-- How much may be queued before entries are parked; from the owner, at its take-over.
local function write_limits(cap, horizon, full, floor)
  redis.call('HSET', KEYS[1], 'cap', cap, 'horizon', horizon, 'full', full, 'floor', floor)
end

local function write_head(kind, reply)
  redis.call('HSET', KEYS[1],
    'call', string.format('%.0f', math.max(head.call, caller.call)), 'at', string.format('%.0f', now),
    'sequence', string.format('%.0f', head.sequence), 'ticket', string.format('%.0f', head.ticket),
    'queued', head.queued, 'ring', head.ring, 'said-' .. kind, ARGV[2] .. (reply or ''))
  if head.had_parked or head.parked + head.asleep > 0 then
    redis.call('HSET', KEYS[1], 'parked', head.parked, 'asleep', head.asleep, 'hungry', head.hungry,
      'wake', string.format('%.0f', head.wake), 'wake-next', string.format('%.0f', head.wake_next))
  end
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
