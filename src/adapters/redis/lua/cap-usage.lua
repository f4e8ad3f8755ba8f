-- What is used under cap keys. KEYS: the book, sums by cap key. ARGV: id of the book, fields of the sums. False: the book is not open.
local book = redis.call('HMGET', KEYS[1], 'id', 'open')
if book[1] ~= ARGV[1] or book[2] ~= '1' then return false end
return redis.call('HMGET', KEYS[2], unpack(ARGV, 2))
