-- Part of the functions that touch host groups: what flows owe to others for requests that held the group for longer than
-- a turn, as in strider.frontier.time_debts.
--
-- keys: none of its own
-- arguments: none of its own
-- result: none
--
-- Debts are among the clocks in the record of a group (frontier_part_paces): what the last slow request took beyond a
-- turn, and until when the flow leaves its turns to others. Groups without slow requests that others waited for have none.
local debts = {TURN = 250} -- ms; a turn where the delay of the group is shorter

local function begin_debts() end

do
  local OF_FLOW, OF_RAW = 128, 255 -- numbers of their clocks: that of a flow beyond this one; of raw senders together
  local RAW_TIMES = 12 -- a raw sender owes so many times what it took, where an owner waits
  local ACTIVE = 10000 -- ms; how long after a turn its flow may have found no further page and still counts as waiting
  local NEVER = 281474976710655

  -- Returns the flow that was served last.
  local function last_flow(turn)
    if turn < 1024 then return turn % FLOWS end
    return FLOWS + math.floor(turn / FLOWS) % FLOWS
  end

  local function owed_until(g, number)
    local debt = g.clocks[number]
    return debt and debt.next_start or 0
  end

  local function owe(g, number, excess, times)
    if times == 0 then return end
    g.clocks = g.clocks or {}
    local ends = now + excess * times
    if ends > owed_until(g, number) then
      g.clocks[number] = {delay = excess, next_start = ends, sequence = 0}
    end
  end

  -- Reduces what raw senders owe: by all of it for a request as slow as theirs, by the square for less.
  local function pay_back(g, excess)
    for number, debt in pairs(g.clocks or {}) do
      if number >= OF_FLOW + FLOWS and number ~= OF_RAW then
        debt.next_start = debt.next_start - math.floor(RAW_TIMES * excess * math.min(excess, debt.delay) / debt.delay)
      end
    end
  end

  -- Returns how many flows but this one wait in a group: of owners, and in all.
  local function waiting_flows(g, flow)
    local counted, owners, all = {[flow] = true}, 0, 0
    for q, many in pairs(g.queues) do
      local other = math.floor(q / 4)
      if many > 0 and not counted[other] then
        counted[other], all = true, all + 1
        if other < FLOWS then owners = owners + 1 end
      end
    end
    return owners, all
  end

  -- Charges a flow for a request that took longer than a turn, while others waited.
  function debts.charge(g, flow, took, turn)
    local owners, others = waiting_flows(g, flow)
    local excess = took - turn
    if flow < FLOWS then
      pay_back(g, excess)
      return owe(g, OF_FLOW + flow, excess, owners)
    end
    if owners > 0 then owe(g, OF_RAW, took, 1) end
    owe(g, OF_FLOW + flow, excess, owners > 0 and math.max(RAW_TIMES, others) or others)
  end

  -- Returns until when raw senders with these queues leave their turns to the flow that was served last.
  local function resume_at(g, queues, at)
    local last, first = last_flow(g.turn), NEVER
    for q in pairs(queues) do first = math.min(first, owed_until(g, OF_FLOW + math.floor(q / 4))) end
    if last < FLOWS then
      first = math.max(first, owed_until(g, OF_RAW))
    elseif owed_until(g, OF_FLOW + last) > at then
      first = 0
    end
    return math.min(first, g.next_start + ACTIVE)
  end

  -- Returns which of some queues may go first at a time, or nothing and when to select again. Debtors leave their turns to
  -- others that are ready, or whose turn was the last, a moment ago.
  function debts.select(g, queues, at)
    local any_owner, any_paid_owner, any_paid = false, false, false
    for q in pairs(queues) do
      local flow = math.floor(q / 4)
      local is_paid = owed_until(g, OF_FLOW + flow) <= at
      any_paid, any_owner = any_paid or is_paid, any_owner or flow < FLOWS
      any_paid_owner = any_paid_owner or (is_paid and flow < FLOWS)
    end
    local resume = any_owner and 0 or resume_at(g, queues, at)
    if resume > at then return nil, resume end
    local chosen, may_raw = {}, not any_owner or owed_until(g, OF_RAW) <= at
    for q, many in pairs(queues) do
      local flow = math.floor(q / 4)
      local goes = owed_until(g, OF_FLOW + flow) <= at
      if flow < FLOWS then
        goes = goes or not any_paid_owner
      else
        goes = may_raw and (goes or not (any_owner or any_paid))
      end
      if goes then chosen[q] = many end
    end
    return chosen, NEVER
  end
end
