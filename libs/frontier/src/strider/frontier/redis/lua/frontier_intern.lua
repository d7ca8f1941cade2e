-- Assign numbers to texts that entries share (shapes and executions), each once.
--
-- keys: KEYS[1] header of the shard, whose `numbers` is the last one assigned; `names` (hash: text, number), `shapes`
--   (hash: number, text)
-- arguments: those of frontier_part_shard; ARGV[5] on: the texts
-- result: {0, number, …} in their order; or an ownership error
return function()
  local refused = ownership_error('ready', 'loading')
  if refused then return refused end
  local reply = {DONE}
  for index = 5, #ARGV do
    local number = tonumber(redis.call('HGET', key.names, ARGV[index]))
    if not number then
      -- A number is never assigned again, also where its text was dropped.
      local last = tonumber(redis.call('HGET', KEYS[1], 'numbers')) or 0
      number = math.max(last, redis.call('HLEN', key.names)) + 1
      redis.call('HSET', KEYS[1], 'numbers', number)
      redis.call('HSET', key.names, ARGV[index], number)
      redis.call('HSET', key.shapes, number, ARGV[index])
    end
    reply[#reply + 1] = number
  end
  return reply
end
