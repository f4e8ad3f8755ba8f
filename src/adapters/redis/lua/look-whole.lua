-- Tells whether the views are whole, and the name of the last loss seen; begins to find out anew where one is seen first.
-- KEYS applied. ARGV prefix, a name for a loss not seen before, the loss that the rest was asked after, then each partition's end of
-- the log as it was after that loss was seen.

local key = ARGV[1] .. 'whole'
local run = runOfServer()
if redis.call('HGET', key, 'run') ~= run then
  redis.call('DEL', key)
  redis.call('HSET', key, 'run', run, 'loss', ARGV[2])
end
local loss = redis.call('HGET', key, 'loss')
if loss == ARGV[3] then
  redis.call('HSET', key, 'partitions', #ARGV - 3)
  for i = 4, #ARGV do
    local partition = i - 4
    if redis.call('HEXISTS', key, 'p:' .. partition) == 0 then
      local applied = redis.call('HGET', KEYS[1], partition)
      if tonumber(applied or 0) >= tonumber(ARGV[i]) then
        redis.call('HSET', key, 'p:' .. partition, '1')
        -- Nothing to fold yet, and nothing missing.
        if not applied then redis.call('HSET', KEYS[1], partition, '0') end
      end
    end
  end
end
return { areWhole(ARGV[1], KEYS[1]) and '1' or '0', loss }
