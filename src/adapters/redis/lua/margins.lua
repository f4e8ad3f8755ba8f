-- Keeps the details received latest. KEYS one for each detail. ARGV validity in ms, then "receivedAt\nJSON" for each.
for i, key in ipairs(KEYS) do
  local known, receivedAt = string.match(redis.call('GET', key) or '', '^%d+'), string.match(ARGV[i + 1], '^%d+')
  if not known or tonumber(known) <= tonumber(receivedAt) then redis.call('SET', key, ARGV[i + 1], 'PX', ARGV[1]) end
end
return 1
