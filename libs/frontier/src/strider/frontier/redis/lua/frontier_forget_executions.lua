-- Drop executions without open entries: their counters, and the numbers of their entries' shapes. Also drop what was
-- seen in scopes whose job is gone.
--
-- keys: KEYS[1] header of the shard; `counts`, `names`, `shapes`, as in frontier_stats and frontier_intern; those of
--   frontier_part_seen
-- arguments: those of frontier_part_shard; ARGV[5] number of executions; then these, as passed to frontier_intern
--   (JSON strings); then the scopes
-- result: {0, number of executions that were dropped}; or an ownership error
return function()
  local refused = ownership_error('ready')
  if refused then return refused end
  local over, numbers, texts, forgotten = {}, {}, {}, 0
  local last = 5 + tonumber(ARGV[5])
  for index = 6, last do
    local number = redis.call('HGET', key.names, ARGV[index])
    if number and (tonumber(redis.call('HGET', key.counts, 'o' .. number)) or 0) == 0 then
      redis.call('HDEL', key.counts, 'o' .. number, 'a' .. number)
      over[cjson.decode('[' .. ARGV[index] .. ']')[1]] = true
      numbers[#numbers + 1], texts[#texts + 1] = number, ARGV[index]
      forgotten = forgotten + 1
    end
  end
  if forgotten > 0 then
    local named = redis.call('HGETALL', key.names)
    for index = 1, #named, 2 do
      local text = named[index]
      -- A shape is an array, whose second item is its execution.
      if string.sub(text, 1, 1) == '[' and over[cjson.decode(text)[2]] then
        numbers[#numbers + 1], texts[#texts + 1] = named[index + 1], text
      end
    end
    bulk('HDEL', key.names, texts)
    bulk('HDEL', key.shapes, numbers)
  end
  for index = last + 1, #ARGV do
    for number = generation - 1, generation do
      local scope = ARGV[index]
      local s = seen_set(number, scope)
      if redis.call('HDEL', s.sizes, scope) == 1 then
        for which = 0, s.buckets - 1 do redis.call('UNLINK', s.prefix .. which) end
      end
    end
  end
  return {DONE, forgotten}
end
