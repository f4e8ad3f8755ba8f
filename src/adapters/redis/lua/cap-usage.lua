-- What is used under cap keys. KEYS: the book, cents and counts by cap key. ARGV: id of the book, cap keys. False: it is not open.
local book = redis.call('HMGET', KEYS[1], 'id', 'open')
if book[1] ~= ARGV[1] or book[2] ~= '1' then return false end
local found = {}
for i = 2, #ARGV do
  found[#found + 1] = redis.call('HGET', KEYS[2], ARGV[i]) or '0'
  found[#found + 1] = redis.call('HGET', KEYS[3], ARGV[i]) or '0'
end
return found
