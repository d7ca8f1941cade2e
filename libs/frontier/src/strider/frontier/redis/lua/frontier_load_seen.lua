-- Record many URLs as seen, as the log says; or presize the sets for so many.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] on, three for each seen scope: its name, time in ms when they were
--   seen, their fingerprints, concatenated; or its name, nothing, and how many there will be
-- result: {0}; or an ownership error
return function()
  local refused = ownership_error('loading')
  if refused then return refused end

  for index = 5, #ARGV, 3 do
    local scope, seen_at, packed = ARGV[index], ARGV[index + 1], ARGV[index + 2]
    if seen_at == '' then
      for number = generation - 1, generation do presize(seen_set(number, scope), tonumber(packed)) end
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
