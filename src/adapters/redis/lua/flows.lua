-- Folds one batch into the states of flows, where they stand at its first record, whole; else changes nothing.
-- KEYS applied. ARGV prefix, partition, first, next, then for each flow: id, "1" if open, "flow:phase", cursor, JSON of the
-- state, number of codes given up, those, number of codes, codes. Returns { applied before } where out of step, else { '' }.
--
--   f:states        hash  flow -> "flow:phase|cursor\tJSON of the state"
--   f:named         hash  flow -> JSON list of its codes
--   f:ids:P f:open:P  sets  flows of a partition, and those with something to do
--   f:c:FLOW:PHASE  zset  by text: cursors
--   f:code:CODE     zset  by text: cursors of the flows found under it
local call = redis.call
local prefix, partition, first = ARGV[1], ARGV[2], ARGV[3]
local applied = call('HGET', KEYS[1], partition) or '0'
if applied ~= first then return { applied } end
-- Should this script die half way, the states of the partition are made again, not wrong.
call('HDEL', KEYS[1], partition)

local states, named = prefix .. 'f:states', prefix .. 'f:named'
local ids, open = prefix .. 'f:ids:' .. partition, prefix .. 'f:open:' .. partition
local function unindex(id)
  local old = call('HGET', states, id)
  if not old then return end
  local index, cursor = string.match(old, '^([^|]+)|([^\t]+)\t')
  call('ZREM', prefix .. 'f:c:' .. index, cursor)
  return cursor
end

if first == '0' then
  for _, id in ipairs(call('SMEMBERS', ids)) do
    local cursor = unindex(id)
    for _, code in ipairs(cjson.decode(call('HGET', named, id) or '[]')) do
      call('ZREM', prefix .. 'f:code:' .. code, cursor)
    end
    call('HDEL', states, id)
    call('HDEL', named, id)
  end
  call('DEL', ids, open)
end

local at = 4
local function take()
  at = at + 1
  return ARGV[at]
end
while at < #ARGV do
  local id, isOpen, index, cursor, json = take(), take(), take(), take(), take()
  unindex(id)
  call('HSET', states, id, index .. '|' .. cursor .. '\t' .. json)
  call('SADD', ids, id)
  call(isOpen == '1' and 'SADD' or 'SREM', open, id)
  call('ZADD', prefix .. 'f:c:' .. index, 0, cursor)
  for _ = 1, tonumber(take()) do call('ZREM', prefix .. 'f:code:' .. take(), cursor) end
  local codes = {}
  for i = 1, tonumber(take()) do
    codes[i] = take()
    call('ZADD', prefix .. 'f:code:' .. codes[i], 0, cursor)
  end
  if #codes > 0 then call('HSET', named, id, cjson.encode(codes)) end
end
call('HSET', KEYS[1], partition, ARGV[4])
return { '' }
