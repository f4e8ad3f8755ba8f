-- Keeps the details received latest. KEYS one for each detail. ARGV validity in ms, then "receivedAt\nJSON" for each.
for i, key in ipairs(KEYS) do
  local detail = ARGV[i + 1]
  local known = redis.call('GET', key)
  if not known or tonumber(string.match(known, '^%d+')) <= tonumber(string.match(detail, '^%d+')) then
    redis.call('SET', key, detail, 'PX', ARGV[1])
  end
end
return 1
