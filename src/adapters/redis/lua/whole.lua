-- Whether the views of all partitions hold whatever may have been acted on. The hash `whole` stands for that: "run" is the
-- life of the server in which it was begun, "loss" a name given when it was begun, "partitions" how many there are, and
-- "p:N" says that partition N was seen folded as far as the log was then. A server that comes back with what it had an hour
-- ago has another run; one that was emptied has no such hash; and whoever makes a partition anew removes it. Caps are common, so
-- each partition has to have all its cap keys as well (holds.lua).

local function runOfServer()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- `own`: a partition whose keys were looked at before; nil: none.
local function areWhole(prefix, appliedKey, generationsKey, own)
  local key = prefix .. 'whole'
  local known = redis.call('HMGET', key, 'run', 'partitions')
  if not known[2] or known[1] ~= runOfServer() then return false end
  local seen, partitions = {}, {}
  for i = 1, tonumber(known[2]) do seen[i], partitions[i] = 'p:' .. (i - 1), i - 1 end
  if #seen == 0 then return true end
  for _, value in ipairs(redis.call('HMGET', key, unpack(seen))) do
    if not value then return false end
  end
  local holds = {}
  for i, partition in ipairs(partitions) do holds[i] = partition .. ':holds' end
  holds = redis.call('HMGET', appliedKey, unpack(holds))
  local generations = redis.call('HMGET', generationsKey, unpack(partitions))
  for i, applied in ipairs(redis.call('HMGET', appliedKey, unpack(partitions))) do
    -- A fold that broke off half way leaves none.
    if not applied then return false end
    local isOther = tostring(partitions[i]) ~= own
    if isOther and lackOf(prefix, partitions[i], applied, generations[i], holds[i], capKeys) then return false end
  end
  return true
end
