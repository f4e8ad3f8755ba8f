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
  local seen, partitions = {}, {}
  for i = 1, tonumber(known[2]) do seen[i], partitions[i] = 'p:' .. (i - 1), i - 1 end
  if #seen == 0 then return true end
  for _, value in ipairs(redis.call('HMGET', key, unpack(seen))) do
    if not value then return false end
  end
  -- A fold that broke off half way leaves none.
  for _, value in ipairs(redis.call('HMGET', appliedKey, unpack(partitions))) do
    if not value then return false end
  end
  return true
end
