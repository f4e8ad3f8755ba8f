-- The policy by which the server takes away any key it likes, '' where it does not; and how many keys it took so far, '' where some policy
-- lets it take what expires anyway.
local function evictionOf()
  local memory = redis.call('INFO', 'memory')
  local policy = string.match(memory, 'maxmemory_policy:([%w-]+)')
  local isLimited = tonumber(string.match(memory, 'maxmemory:(%d+)')) > 0
  if isLimited and string.sub(policy, 1, 7) == 'allkeys' then return policy, '' end
  if policy ~= 'noeviction' then return '', '' end
  return '', string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)')
end
