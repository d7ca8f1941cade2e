-- Part of the functions that release entries: which queue is served next, as in strider.frontier.turns.
--
-- keys: `turns` of the header of the shard
-- arguments: none of its own
-- result: none
--
-- A queue's number is four times its flow plus its priority. Flows are 32 of owners' runs and 32 of raw senders'. A
-- group and the shard keep the flows served last as one number: half, last of raw senders, last of owners.
local FLOWS = 32
local NO_TURN = 1024 + 31 * 32 + 31
local PRIORITY_TURNS = {3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3}

local shard_turn, shard_places -- flows served last; by flow: its place among the turns of priorities
local has_turned

local function begin_turns()
  shard_turn, shard_places, has_turned = nil, {}, false
end

local function load_turns()
  if shard_turn then return end
  shard_turn = NO_TURN
  if not head.turns then return end
  shard_turn = struct.unpack('>I2', head.turns)
  for at = 3, #head.turns, 2 do shard_places[string.byte(head.turns, at)] = string.byte(head.turns, at + 1) end
end

local function write_turns()
  if not has_turned then return end
  local turns = {struct.pack('>I2', shard_turn)}
  for flow, place in pairs(shard_places) do
    if place > 0 then turns[#turns + 1] = string.char(flow, place) end
  end
  redis.call('HSET', KEYS[1], 'turns', table.concat(turns))
end

local function flow_distance(turn, flow)
  local half, number = math.floor(flow / FLOWS), flow % FLOWS
  local last = half == 0 and turn % FLOWS or math.floor(turn / FLOWS) % FLOWS
  return (half == math.floor(turn / 1024) and FLOWS or 0) + (number - last - 1) % FLOWS
end

-- Returns the state after a turn of a flow.
local function served_flow(turn, flow)
  local half, number = math.floor(flow / FLOWS), flow % FLOWS
  local owner, raw = turn % FLOWS, math.floor(turn / FLOWS) % FLOWS
  if half == 0 then owner = number else raw = number end
  return half * 1024 + raw * FLOWS + owner
end

-- Returns the best queue of the flow that comes next in a group, or nothing. Most groups have one queue.
local function next_queue(turn, queues)
  local only, best, least = next(queues), nil, nil
  if only and not next(queues, only) then return queues[only] > 0 and only or nil end
  for q, many in pairs(queues) do
    if many > 0 then
      local order = flow_distance(turn, math.floor(q / 4)) * 4 + 3 - q % 4
      if not least or order < least then best, least = q, order end
    end
  end
  return best
end

-- Returns the queue that comes next in the shard among those that `is_due` by number, and its place among the turns.
local function next_due_queue(is_due)
  local only, flow, least = next(is_due), nil, nil
  if not only then return end
  load_turns()
  if not next(is_due, only) then
    local place = shard_places[math.floor(only / 4)] or 0
    while PRIORITY_TURNS[place + 1] ~= only % 4 do place = (place + 1) % #PRIORITY_TURNS end
    return only, place
  end
  for q in pairs(is_due) do
    local candidate = math.floor(q / 4)
    local distance = flow_distance(shard_turn, candidate)
    if not least or distance < least then flow, least = candidate, distance end
  end
  local at = shard_places[flow] or 0
  for step = 0, #PRIORITY_TURNS - 1 do
    local place = (at + step) % #PRIORITY_TURNS
    local q = flow * 4 + PRIORITY_TURNS[place + 1]
    if is_due[q] then return q, place end
  end
end

-- Counts a turn of a queue that was next, at its place among the turns.
local function serve_due_queue(q, place)
  local flow = math.floor(q / 4)
  shard_turn, shard_places[flow], has_turned = served_flow(shard_turn, flow), (place + 1) % #PRIORITY_TURNS, true
end
