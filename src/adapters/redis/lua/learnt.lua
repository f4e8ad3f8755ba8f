-- Tells what a partition has learnt: see state/shared-learning.ts. KEYS[1]: key, with a colon before it, to statistic; and the mark.
-- ARGV: mark that has to be there ('' begins anew), next mark, how far the partition is folded, then those keys and statistics in turn.
local mark = redis.call('HGET', KEYS[1], 'mark')
if ARGV[1] == '' then
  if mark and tonumber(string.match(mark, '^%d+')) > tonumber(ARGV[3]) then return 0 end
  redis.call('UNLINK', KEYS[1])
elseif mark ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'mark', ARGV[2], unpack(ARGV, 4))
return 1
