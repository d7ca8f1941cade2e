-- Part of the functions that touch host groups: paces of their open entries, and clocks of flows that are held back.
--
-- keys: none of its own
-- arguments: ARGV[3] delay of groups that were never set, ms
-- result: none
--
-- A crawl spec sets a pace (delay, request limit, patience with a block), which counts in a group while an entry under
-- it is open there. Delay, limit and block of a group follow from its paces and from overrides of an operator or a source.
-- Paces of raw senders count by flow: one that asks for more than the delay of the group has a clock of its own.
local NO_DELAY, NO_PLACES = 4294967295, 65535 -- no override: by the paces
local OWN_SIZE = 22

-- What only these functions use is local to their block: Lua allows 200 local names in the library.
local begin_paces, unpacked_clocks, packed_clocks, parse_paces, packed_paces, apply_paces
local flow_delay, hold_flow, lease_flow, end_flow, flow_of_paces, is_pace, open_pace, close_pace, read_paces, next_turn

do
  local OWN = '>I4I4I2I6I6' -- delay and least delay, ms; request limit; start and end of a block, ms
  local FLOW_CLOCK = '>BI4I6I6' -- flow; delay, ms; its next request, ms; lease of its request in flight (0: none)
  local PACE = '>BBI4I4I2I4' -- number in the group, flow of raw senders or 0, open entries; delay, request limit, patience
  local PACE_SIZE, ENTRIES_AT = 16, OWN_SIZE + 2
  local PACES_OF_CALL = '>I4I2I4'
  local NEVER = 281474976710655 -- next request of a flow whose request is in flight
  local MAX_PACES, MAX_PACES_OF_FLOW = 64, 4 -- counted apart: of owners' runs, and of each flow of raw senders

  function begin_paces() end

  -- Returns the clocks of flows, by flow, and where they end.
  function unpacked_clocks(packed, at, many)
    local clocks = {}
    for _ = 1, many do
      local flow, delay, next_start, sequence
      flow, delay, next_start, sequence, at = struct.unpack(FLOW_CLOCK, packed, at)
      clocks[flow] = {delay = delay, next_start = next_start, sequence = sequence}
    end
    return clocks, at
  end

  function packed_clocks(g)
    local packed, many = '', 0
    if not g.clocks then return packed, many end
    for flow, clock in pairs(g.clocks) do
      if clock.next_start > now then
        packed = packed .. struct.pack(FLOW_CLOCK, flow, clock.delay, clock.next_start, clock.sequence)
        many = many + 1
      end
    end
    return packed, many
  end

  -- Parses the overrides of a group, and its paces.
  function parse_paces(g)
    if g.paces then return g.paces end
    local paces, rest, many = {}, g.rest, 0
    g.paces = paces
    g.delay_override, g.least_delay, g.places_override, g.blocked_since, g.blocked_until = NO_DELAY, 0, NO_PLACES, 0, 0
    if rest == '' then return paces end
    local at
    g.delay_override, g.least_delay, g.places_override, g.blocked_since, g.blocked_until, at = struct.unpack(OWN, rest)
    while at <= #rest do
      local p = {}
      p.number, p.flow, p.entries, p.delay, p.places, p.patience, at = struct.unpack(PACE, rest, at)
      many = many + 1
      paces[many] = p
    end
    return paces
  end

  function packed_paces(g)
    local parts = {struct.pack(OWN, g.delay_override, g.least_delay, g.places_override, g.blocked_since, g.blocked_until)}
    for index, p in ipairs(g.paces) do
      parts[index + 1] = struct.pack(PACE, p.number, p.flow, p.entries, p.delay, p.places, p.patience)
    end
    return table.concat(parts)
  end

  -- Returns the delay of a pace: where its crawl spec sets none, the default.
  local function delay_of(p)
    return p.delay == NO_DELAY and tonumber(ARGV[3]) or p.delay
  end

  -- Sets delay, request limit and block of a group: the strictest of its paces, unless they are overridden. Paces of raw
  -- senders count where no owner's run has open entries, and up to the default delay: what they ask beyond that holds for
  -- their own flow (flow_delay).
  function apply_paces(g)
    local default, before = tonumber(ARGV[3]), g.delay
    local delay, places, raw_delay, raw_places, patience
    for _, p in ipairs(parse_paces(g)) do
      if p.flow == 0 then
        delay, places = math.max(delay or 0, delay_of(p)), math.min(places or NO_PLACES, p.places)
      else
        raw_delay = math.max(raw_delay or 0, math.min(delay_of(p), default))
        raw_places = math.min(raw_places or NO_PLACES, p.places)
      end
      patience = math.min(patience or NO_DELAY, p.patience)
    end
    delay, places = delay or raw_delay or default, places or raw_places or 1
    if g.delay_override ~= NO_DELAY then delay = g.delay_override end
    g.delay = math.max(delay, g.least_delay)
    g.max_in_flight = g.places_override ~= NO_PLACES and g.places_override or places
    g.blocked = g.blocked_until
    if g.blocked_since > 0 and patience then g.blocked = math.min(g.blocked, g.blocked_since + patience * 1000) end
    -- The delay of a request in flight is never shortened: it counts from the latest time at which that may start.
    if g.delay < before then g.next_start = math.max(g.next_start, g.provisional_start) end
    g.stale, g.is_touched, g.rest = true, true, false
  end

  -- Returns the longest delay that a flow of raw senders asks for; 0 where an override sets its delay.
  function flow_delay(g, flow)
    local longest = 0
    for _, p in ipairs(parse_paces(g)) do
      if p.flow == flow and p.delay ~= NO_DELAY then longest = math.max(longest, p.delay) end
    end
    return g.delay_override == NO_DELAY and longest or 0
  end

  -- Holds back a flow until a time; a request in flight holds it back until that ends.
  function hold_flow(g, flow, delay, next_start, sequence)
    local clock = g.clocks and g.clocks[flow]
    if clock and clock.next_start > next_start then return end
    g.clocks = g.clocks or {}
    g.clocks[flow] = {delay = delay, next_start = next_start, sequence = sequence}
    g.stale, g.is_touched = true, true
  end

  -- Holds back the flow of a new lease of a queue, if it asks for more than the delay of the group.
  function lease_flow(g, q, sequence)
    local flow = math.floor(q / 4)
    if flow < FLOWS then return end
    local delay = flow_delay(g, flow)
    if delay > g.delay then hold_flow(g, flow, delay, NEVER, sequence) end
  end

  -- Moves the clock of the flow that a lease holds back, if it does, to start + delay; a start of 0 frees it.
  function end_flow(g, sequence, began)
    if not g.clocks then return end
    for _, clock in pairs(g.clocks) do
      if clock.sequence == sequence then
        clock.next_start, clock.sequence = began > 0 and began + clock.delay or 0, 0
        g.is_touched = true
      end
    end
  end

  -- Returns until when the flow of a queue is held back; 0 where it is not.
  local function flow_start(g, q)
    local clock = g.clocks and g.clocks[math.floor(q / 4)]
    return clock and clock.next_start or 0
  end

  -- Counts an open entry under the mildest pace of its flow that is no milder than its own, or else makes the strictest one
  -- as strict: for groups with many different paces, whose record must not grow without bound.
  local function share_pace(g, wanted, flow)
    local shared, strictest
    for _, p in ipairs(g.paces) do
      if p.flow == flow then
        local covers = delay_of(p) >= delay_of(wanted) and p.places <= wanted.places and p.patience <= wanted.patience
        if covers and (not shared or delay_of(p) < delay_of(shared)) then shared = p end
        if not strictest or delay_of(p) > delay_of(strictest) then strictest = p end
      end
    end
    if not shared then
      shared = strictest
      if delay_of(wanted) > delay_of(shared) then shared.delay = wanted.delay end
      shared.places = math.min(shared.places, wanted.places)
      shared.patience = math.min(shared.patience, wanted.patience)
    end
    shared.entries = shared.entries + 1
    apply_paces(g)
    return shared.number
  end

  -- Paces of owners' runs count together, those of raw senders by flow.
  function flow_of_paces(q)
    local flow = math.floor(q / 4)
    return flow < FLOWS and 0 or flow
  end

  function is_pace(p, wanted, flow)
    return p.flow == flow and p.delay == wanted.delay and p.places == wanted.places and p.patience == wanted.patience
  end

  -- Returns the fields of the only pace of a group whose record is not parsed yet, as of most groups; else nothing.
  local function only_pace(g)
    if g.paces or not g.rest or #g.rest ~= OWN_SIZE + PACE_SIZE then return end
    return struct.unpack(PACE, g.rest, OWN_SIZE + 1)
  end

  -- Changes the number of entries of the only pace where it stands.
  local function recount_only_pace(g, entries)
    g.rest = string.sub(g.rest, 1, ENTRIES_AT) .. struct.pack('>I4', entries) .. string.sub(g.rest, ENTRIES_AT + 5)
    g.is_touched = true
  end

  -- Counts an open entry of a queue under its pace; returns the number of that in the group.
  function open_pace(g, wanted, q)
    local flow = flow_of_paces(q)
    local only, own_flow, entries, delay, places, patience = only_pace(g)
    if only and own_flow == flow and delay == wanted.delay and places == wanted.places and patience == wanted.patience then
      recount_only_pace(g, entries + 1)
      return only
    end
    local paces, used, many = parse_paces(g), {}, 0
    for _, p in ipairs(paces) do
      if is_pace(p, wanted, flow) then
        p.entries = p.entries + 1
        g.is_touched, g.rest = true, false
        return p.number
      end
      used[p.number] = true
      if p.flow == flow then many = many + 1 end
    end
    if many >= (flow == 0 and MAX_PACES or MAX_PACES_OF_FLOW) then return share_pace(g, wanted, flow) end
    local number = 1
    while used[number] do number = number + 1 end
    paces[#paces + 1] = {
      number = number, flow = flow, entries = 1, delay = wanted.delay, places = wanted.places, patience = wanted.patience,
    }
    apply_paces(g)
    return number
  end

  -- Ends the count of an entry under a pace. That of an entry without a slot is unknown: it is taken for the most frequent
  -- one of its flow.
  function close_pace(g, number, q)
    local only, _, entries = only_pace(g)
    if only == number and entries > 1 then return recount_only_pace(g, entries - 1) end
    local paces, found, flow = parse_paces(g), nil, q and flow_of_paces(q)
    for index, p in ipairs(paces) do
      if p.number == number then
        found = index
        break
      end
      if p.flow == flow and (not found or p.entries > paces[found].entries) then found = index end
    end
    if not found then return end
    local p = paces[found]
    p.entries = p.entries - 1
    g.is_touched, g.rest = true, false
    if p.entries > 0 then return end
    table.remove(paces, found)
    apply_paces(g)
  end

  -- Parses the paces of a call, which its entries name by their place in this list; 0 is none.
  function read_paces(packed)
    local paces, at = {}, 1
    while at <= #packed do
      local p = {}
      p.delay, p.places, p.patience, at = struct.unpack(PACES_OF_CALL, packed, at)
      paces[#paces + 1] = p
    end
    return paces
  end

  -- Returns the queue that comes next in a group of which a request may start from a time on, and when it may: a flow that
  -- is held back, or owes time, gives its turn to others.
  function next_turn(g, eligible)
    if not g.clocks then return next_queue(g.turn, g.queues), eligible end
    local first = math.max(eligible, now)
    local at = first
    while at < NEVER do
      local ready, is_any, resume = {}, false, NEVER
      for q, many in pairs(g.queues) do
        if many > 0 then
          local start = flow_start(g, q)
          if start <= at then
            ready[q], is_any = many, true
          elseif start < resume then
            resume = start
          end
        end
      end
      if is_any then
        local chosen, again = debts.select(g, ready, at)
        if chosen then return next_queue(g.turn, chosen), at == first and eligible or at end
        resume = math.min(resume, again)
      end
      at = resume
    end
    return nil, eligible
  end
end
