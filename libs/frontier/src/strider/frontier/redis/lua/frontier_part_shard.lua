-- Part of every frontier function: the header of a shard, its fencing, and the one clock.
--
-- keys: KEYS[1] header (hash) of the shard; all other keys of the shard begin alike and share its slot
-- arguments: ARGV[1] state of the caller, six bytes each, or nothing: its epoch, number of this call, greatest number of a
--   call that it has the reply of, and the bounds (ms; 0 and 0: unknown) of the shard's clock; then the identity of its Kafka
--   cluster, as text; ARGV[2] nonce of the call;
--   ARGV[3] delay of groups that were never set, ms; ARGV[4] age of a seen generation, ms; the rest is each function's own
-- result: {0, …} done; {1} a newer owner has the shard; {2, reason} the working set is not ready; {3} the server's clock
--   has jumped (frontier_correct_clock corrects it); {4, reason} the server may evict keys
--
-- All frontier functions are one library, which the server runs once: what is declared outside of functions lives as long
-- as the server's process. State of a call is reset by the `begin_` function of each part.
--
-- The shard's time is the server's clock plus the header's `offset`, which cancels jumps of that clock; it never goes back
-- behind `at`, the time of the owner's last change.
local DONE, FENCED, NOT_READY, CLOCK_OFF, EVICTING = 0, 1, 2, 3, 4

-- Layout of the keys; FIELDS, which the loader prepends, is the digest of a slot's fields.
local LAYOUT = '5'
local FULL_LAYOUT = LAYOUT .. '-' .. FIELDS

local CALLER = '>I6I6I6I6I6'
local CALLER_SIZE = 30
local FIGURES = '>I6I6I4i6i6i6i6i6I6I6'
local LIMITS = '>I4I6BI4'
local MAX_CACHED_KEYS = 4096

local KEYS, ARGV
local base, key
local head, caller = {}, {}
local clock_us, now_us, now
local server_run -- read once
local keys_of, keys_cached = {}, 0 -- names of the shards' keys, by their header's

-- A restarted or replaced server has another run id, and its content may be older than it looks.
local function run_id()
  if not server_run then server_run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') end
  return server_run
end

local function key_names(header)
  local prefix = string.sub(header, 1, -7) -- without `header`
  local names = {base = prefix, due = prefix .. 'due:', queue = prefix .. 'queue:'}
  for _, name in ipairs({'entries', 'groups', 'later', 'counts', 'leases', 'ends', 'expired', 'names', 'shapes'}) do
    names[name] = prefix .. name
  end
  if keys_cached == MAX_CACHED_KEYS then keys_of, keys_cached = {}, 0 end
  keys_of[header], keys_cached = names, keys_cached + 1
  return names
end

local function begin_shard(reply_field)
  local header = KEYS[1]
  key = keys_of[header] or key_names(header)
  base = key.base
  local values = redis.call('HMGET', header, 'epoch', 'run', 'state', 'layout', 'call', 'offset', 'figures', 'limits',
    'due', 'turns', 'said-' .. reply_field, 'cluster')
  -- The tables are reused: new ones would be a good part of the cost of a small call.
  head.reply_field, head.last_reply, head.run = reply_field, values[11], values[2]
  head.due, head.turns = values[9] or '', values[10]
  head.state, head.layout = values[3] or 'absent', values[4] or ''
  head.cluster = values[12] or ''
  head.epoch, head.call, head.offset = tonumber(values[1]), tonumber(values[5]) or 0, tonumber(values[6]) or 0
  head.at, head.sequence, head.ticket, head.queued, head.in_pipeline, head.overflow, head.deferred, head.refillable, head.next_deferred_due,
    head.pass_deferred_due = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
  head.entries_per_group, head.horizon, head.memory_full_percent, head.minimum_entries = 0, 0, 0, 0
  if values[7] then
    head.at, head.sequence, head.ticket, head.queued, head.in_pipeline, head.overflow, head.deferred, head.refillable, head.next_deferred_due,
      head.pass_deferred_due = struct.unpack(FIGURES, values[7])
  end
  if values[8] then head.entries_per_group, head.horizon, head.memory_full_percent, head.minimum_entries = struct.unpack(LIMITS, values[8]) end
  caller.cluster = string.sub(ARGV[1], CALLER_SIZE + 1)
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

local function is_clock_off()
  local clock = clock_us / 1000
  return caller.latest > 0 and (clock < caller.earliest or clock > caller.latest)
end

-- Continues the shard's time from there, whatever the server's clock shows; returns the difference.
local function set_time(wanted)
  local by = wanted - math.floor(clock_us / 1000)
  head.offset = head.offset + by
  clock_us = clock_us + by * 1000
  now_us = math.max(clock_us, head.at * 1000)
  now = math.floor(now_us / 1000)
  redis.call('HSET', KEYS[1], 'offset', head.offset)
  return by
end

-- Returns an error where the server may evict keys; nothing where it keeps them.
local function eviction_error()
  local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:([%w-]+)')
  if policy and policy ~= 'noeviction' then
    return {EVICTING, 'its maxmemory-policy is ' .. policy .. ', which evicts keys: set noeviction'}
  end
end

-- Returns how many keys were evicted since the server was started.
local function evicted()
  return string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)') or '0'
end

local function has_current_layout()
  return head.layout == FULL_LAYOUT
end

-- For readers that decode no slots: the fields may be another version's.
local function is_ready_to_read()
  return head.state == 'ready' and head.run == run_id() and string.sub(head.layout, 1, #LAYOUT + 1) == LAYOUT .. '-'
end

-- Whether the caller is not the owner, or no longer. Epochs are numbers of one Kafka cluster: another one counts from 0, so
-- they are compared only with those of the same.
local function is_fenced()
  return head.epoch and (head.cluster ~= caller.cluster or head.epoch > caller.epoch)
end

-- Returns why the caller may not act on the shard; nothing where it may. `also` is a second allowed state.
local function ownership_error(wanted, also)
  if not head.epoch then return {NOT_READY, 'it is absent'} end
  if is_fenced() then return {FENCED} end
  if head.epoch < caller.epoch then return {NOT_READY, 'it was not taken over with this epoch'} end
  if head.state ~= wanted and head.state ~= also then return {NOT_READY, 'it is ' .. head.state} end
  if head.run ~= run_id() then return {NOT_READY, 'the server was restarted or replaced'} end
  if not has_current_layout() then return {NOT_READY, 'another version wrote it'} end
  if head.call < caller.answered then return {NOT_READY, 'it is older than its earlier replies'} end
  if is_clock_off() then return {CLOCK_OFF} end
end

-- Returns the earlier reply to this very call; the last reply of each function is kept.
local function previous_reply()
  local kept, nonce = head.last_reply, ARGV[2]
  if kept and nonce ~= '' and string.sub(kept, 1, #nonce) == nonce then return string.sub(kept, #nonce + 1) end
end

-- Records the due time of a deferred entry: the earliest is when the next pass through the log is due. What is met
-- during a pass counts for the next one.
local function note_deferred_due(due)
  if head.next_deferred_due == 0 or due < head.next_deferred_due then head.next_deferred_due = due end
  if head.pass_deferred_due == 0 or due < head.pass_deferred_due then head.pass_deferred_due = due end
end

-- Stores how much may be queued before entries are parked; from the owner, at its takeover.
local function write_limits(cap, horizon, full, floor)
  redis.call('HSET', KEYS[1], 'limits', struct.pack(LIMITS, cap, horizon, full, floor))
end

local function packed_figures()
  return struct.pack(FIGURES, now, head.sequence, head.ticket, head.queued, head.in_pipeline, head.overflow, head.deferred,
    head.refillable, head.next_deferred_due, head.pass_deferred_due)
end

-- Returns the key of a queue of a group, by its number.
local function queue_key(q, name)
  return key.queue .. q .. ':' .. name
end

-- Returns the key of the due order of the groups whose next entry is in a queue of this number.
local function due_key(q)
  return key.due .. q
end

-- Returns the numbers of the queues that have, or had, groups in their due orders.
local function due_queues()
  return {string.byte(head.due, 1, -1)}
end

-- Adds the number of a queue whose due order is no longer empty.
local function note_due_queue(q)
  local letter = string.char(q)
  if not string.find(head.due, letter, 1, true) then
    head.due = head.due .. letter
    redis.call('HSET', KEYS[1], 'due', head.due)
  end
end

local function write_header(reply)
  local nonce = ARGV[2]
  redis.call('HSET', KEYS[1], 'call', math.max(head.call, caller.call), 'figures', packed_figures(),
    'said-' .. head.reply_field, reply and nonce .. reply or nonce)
end

-- Runs variadic commands in pieces that fit Lua's stack; pairs stay together.
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
