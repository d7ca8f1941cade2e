-- Return which entries are parked.
--
-- keys: KEYS[1] header of the shard
-- arguments: those of frontier_part_shard; ARGV[5] entry ids, concatenated
-- result: {0, one letter for each: 1 parked, 0 not}; or an ownership error
return function()
  local refused = ownership_error('ready')
  if refused then return refused end
  local ids, letters = {}, {}
  for first = 1, #ARGV[5], 16 do ids[#ids + 1] = string.sub(ARGV[5], first, first + 15) end
  local kinds = parked_kinds(ids)
  for index, id in ipairs(ids) do letters[index] = kinds[id] and '1' or '0' end
  return {DONE, table.concat(letters)}
end
