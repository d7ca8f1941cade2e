-- Part of every frontier script: the header of a shard, its fence, and the one clock.
--
-- keys: KEYS[1] header (hash) of the shard; all other keys of the shard begin alike and share its slot
-- arguments: ARGV[1] what the caller says of itself, six bytes each, or nothing: its epoch, number of this call,
--   greatest number of a call that it had the answer of, and between which times (ms; 0 and 0: it does not know)
--   the shard's clock must stand; ARGV[2] nonce of the call; ARGV[3] delay of groups that were never set, ms;
--   ARGV[4] age of a seen generation, ms; the rest is each script's own
-- result: {0, …} done; {1} a newer owner has the shard; {2, why} the working set is not ready; {3} the server's
--   clock has jumped (frontier_shift mends that); {4, why} the server may throw away what it was given
--
-- All frontier scripts are one library, which the server runs once: what is declared outside of functions lives
-- as long as the server's process. What belongs to a call is set anew by the `begin_` function of each part.
--
-- The shard's time is the server's clock and the header's `offset`, which takes jumps of that clock out again;
-- it never goes back behind `at`, when the owner's last change was made.
local DONE, FENCED, NOT_READY, OFF_CLOCK, UNSAFE = 0, 1, 2, 3, 4

-- How the keys are laid out; FIELDS, which the loader puts before, names what a slot's tail holds.
local LAYOUT = '3'
local WHOLE_LAYOUT = LAYOUT .. '-' .. FIELDS

local CALLER = '>I6I6I6I6I6'
local FIGURES = '>I6I6I4i6i6i6i6i6I6I6'
local LIMITS = '>I4I6BI4'
local MOST_KEYS = 4096

local KEYS, ARGV
local base, key
local head, caller = {}, {}
local clock_us, now_us, now
local server_run -- asked for once
local keys_of, keys_kept = {}, 0 -- names of the shards' keys, by their header's

-- A restarted or replaced server has another run id, and what it holds may be older than it looks.
local function run_id()
  if not server_run then server_run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') end
  return server_run
end

local function key_names(header)
  local prefix = string.sub(header, 1, -7) -- without `header`
  local names = {base = prefix, due = {}, queue = {}}
  for _, name in ipairs({'entries', 'groups', 'later', 'counts', 'leases', 'ends', 'expired', 'names', 'shapes'}) do
    names[name] = prefix .. name
  end
  for priority = 0, 3 do
    names.due[priority] = prefix .. 'due:' .. priority
    names.queue[priority] = prefix .. 'queue:' .. priority .. ':'
  end
  if keys_kept == MOST_KEYS then keys_of, keys_kept = {}, 0 end
  keys_of[header], keys_kept = names, keys_kept + 1
  return names
end

local function begin_shard(name)
  local header = KEYS[1]
  key = keys_of[header] or key_names(header)
  base = key.base
  local values = redis.call('HMGET', header, 'epoch', 'run', 'state', 'layout', 'call', 'offset', 'figures', 'limits',
    'said-' .. name)
  -- The same tables again: to make them anew would be a good part of what a small call costs.
  head.name, head.said, head.run = name, values[9], values[2]
  head.state, head.layout = values[3] or 'absent', values[4] or ''
  head.epoch, head.call, head.offset = tonumber(values[1]), tonumber(values[5]) or 0, tonumber(values[6]) or 0
  head.at, head.sequence, head.ticket, head.queued, head.ring, head.parked, head.asleep, head.hungry, head.wake,
    head.wake_next = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
  head.cap, head.horizon, head.full, head.floor = 0, 0, 0, 0
  if values[7] then
    head.at, head.sequence, head.ticket, head.queued, head.ring, head.parked, head.asleep, head.hungry, head.wake,
      head.wake_next = struct.unpack(FIGURES, values[7])
  end
  if values[8] then head.cap, head.horizon, head.full, head.floor = struct.unpack(LIMITS, values[8]) end
  if ARGV[1] == '' then
    caller.epoch, caller.call, caller.answered, caller.earliest, caller.latest = 0, 0, 0, 0, 0
  else
    caller.epoch, caller.call, caller.answered, caller.earliest, caller.latest = struct.unpack(CALLER, ARGV[1])
  end
  local time = redis.call('TIME')
  clock_us = time[1] * 1000000 + time[2] + head.offset * 1000
  now_us = math.max(clock_us, head.at * 1000)
  now = math.floor(now_us / 1000)
end

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
  redis.call('HSET', KEYS[1], 'offset', head.offset)
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
  return head.layout == WHOLE_LAYOUT
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

-- What was answered to this very call before; the last call of each script is remembered.
local function said_before()
  local kept, nonce = head.said, ARGV[2]
  if kept and nonce ~= '' and string.sub(kept, 1, #nonce) == nonce then return string.sub(kept, #nonce + 1) end
end

-- An entry sleeps until then: the earliest is when the next look through the log is due. What is met during a
-- round through the log makes the next round's.
local function note_wake(due)
  if head.wake == 0 or due < head.wake then head.wake = due end
  if head.wake_next == 0 or due < head.wake_next then head.wake_next = due end
end

-- How much may be queued before entries are parked; from the owner, at its take-over.
local function write_limits(cap, horizon, full, floor)
  redis.call('HSET', KEYS[1], 'limits', struct.pack(LIMITS, cap, horizon, full, floor))
end

local function packed_figures()
  return struct.pack(FIGURES, now, head.sequence, head.ticket, head.queued, head.ring, head.parked, head.asleep,
    head.hungry, head.wake, head.wake_next)
end

local function write_head(reply)
  local nonce = ARGV[2]
  redis.call('HSET', KEYS[1], 'call', math.max(head.call, caller.call), 'figures', packed_figures(),
    'said-' .. head.name, reply and nonce .. reply or nonce)
end

-- Variadic commands in pieces that fit Lua's stack; pairs stay together.
local function bulk(command, name, values)
  local many = #values
  if many == 0 then return end
  if many <= 4000 then return redis.call(command, name, unpack(values)) end
  for first = 1, many, 4000 do
    redis.call(command, name, unpack(values, first, math.min(first + 3999, many)))
  end
end

local function bulk_get(name, fields)
  local many = #fields
  if many == 0 then return fields end
  if many <= 4000 then return redis.call('HMGET', name, unpack(fields)) end
  local found = {}
  for first = 1, many, 4000 do
    local part = redis.call('HMGET', name, unpack(fields, first, math.min(first + 3999, many)))
    for index = 1, #part do found[first + index - 1] = part[index] end
  end
  return found
end
