-- Whether the views of all partitions hold whatever may have been acted on. The hash `whole` stands for that: "run" is the
-- life of the server in which it was begun, "loss" a name given when it was begun, "partitions" how many there are, and
-- "p:N" says that partition N was seen folded as far as the log was then. A server that comes back with what it had an hour
-- ago has another run; one that was emptied has no such hash; and whoever makes a partition anew removes it.

local function runOfServer()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function areWhole(prefix, appliedKey)
  local key = prefix .. 'whole'
  local known = redis.call('HMGET', key, 'run', 'partitions')
  if not known[2] or known[1] ~= runOfServer() then return false end
  for partition = 0, tonumber(known[2]) - 1 do
    if redis.call('HEXISTS', key, 'p:' .. partition) == 0 then return false end
    -- A fold that broke off half way leaves none.
    if redis.call('HEXISTS', appliedKey, partition) == 0 then return false end
  end
  return true
end
