-- Give numbers to texts that entries share (who they belong to, and how far they are), once for all.
--
-- keys: KEYS[1] header of the shard, whose `numbers` is the last one given; `names` (hash: text, number),
--   `shapes` (hash: number, text)
-- arguments: those of frontier_part_shard; ARGV[5] on: the texts
-- result: {0, number, …} in their order; or a refusal
return function()
  local refused = refusal('ready', 'loading')
  if refused then return refused end
  local reply = {DONE}
  for index = 5, #ARGV do
    local number = tonumber(redis.call('HGET', key.names, ARGV[index]))
    if not number then
      -- Never one that was given before, also where what it stood for is forgotten.
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
