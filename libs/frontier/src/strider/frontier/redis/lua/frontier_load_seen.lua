-- Remember as seen what the log says was seen, many URLs at once; or make room for as many as are to come.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] on, three for each seen scope: its name, when these were seen
--   in ms, their fingerprints one after the other; or its name, nothing, and how many there will be
-- result: {0}; or a refusal
return function()
  local refused = refusal('loading')
  if refused then return refused end

  for index = 5, #ARGV, 3 do
    local scope, seen_at, packed = ARGV[index], ARGV[index + 1], ARGV[index + 2]
    if seen_at == '' then
      for number = generation - 1, generation do widen(seen_set(number, scope), tonumber(packed)) end
    else
      local number = math.min(math.floor(tonumber(seen_at) / age), generation)
      if number >= generation - 1 then -- what is older counts as new
        local list, many = {}, 0
        for first = 1, #packed, 19 do
          many = many + 1
          list[many] = string.sub(packed, first, first + 18)
        end
        add_seen(number, scope, list)
      end
    end
  end
  return {DONE}
end
