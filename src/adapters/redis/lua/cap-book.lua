-- One step of the cap book, whole or not at all: see state/cap-book.ts. KEYS: the book, sums (cents and count of each cap key), refused
-- requests. ARGV[1]: the call as JSON. Returns { { server, id, partitions, open ('1'), done ('1') }, base and at of each part, fields of a
-- book that is not open, requests refused }. A script that dies half way leaves a book without its id. So does a key that was lost: `held`
-- says how much the other two have.
local call = redis.call
local book, sums, refused = KEYS[1], KEYS[2], KEYS[3]
local ask = cjson.decode(ARGV[1])
local server = string.match(call('INFO', 'server'), 'run_id:(%x+)')
  .. ':' .. string.match(call('INFO', 'replication'), 'master_replid:(%x+)')
local function heldNow()
  return call('HLEN', sums) .. ' ' .. call('SCARD', refused)
end
local id, partitions, isOpen, held = unpack(call('HMGET', book, 'id', 'partitions', 'open', 'held'))
if id and held ~= heldNow() then
  call('HDEL', book, 'id')
  id = false
end
local isHere, done, parts, refusals = ask.server == server, '', {}, {}

local function add(keys, amount, number)
  for _, key in ipairs(keys) do
    local cents, count = call('HINCRBY', sums, 'cents ' .. key, amount), call('HINCRBY', sums, 'count ' .. key, number)
    if cents == 0 and count == 0 then call('HDEL', sums, 'cents ' .. key, 'count ' .. key) end
    assert(cents >= 0 and count >= 0 and (count > 0 or cents == 0), 'more was released than reserved')
  end
end

local function isFull(amount, limits)
  for _, limit in ipairs(limits) do
    local cents, count = amount, 1
    for _, key in ipairs(limit.keys) do
      local known = call('HMGET', sums, 'cents ' .. key, 'count ' .. key)
      cents, count = cents + tonumber(known[1] or 0), count + tonumber(known[2] or 0)
    end
    if cents > (limit.cents or math.huge) or count > (limit.count or math.huge) then return true end
  end
  return false
end

local function takeIn(operation)
  local kind, request, amount = operation.kind, operation.requestId, operation.amountCents
  local isFree = kind == 'reserve' and not isFull(amount, operation.limits)
  local wasRefused = kind ~= 'reserve' and call('SREM', refused, request) == 1
  if kind == 'reserve' and not isFree then call('SADD', refused, request) end
  if isFree or kind == 'count' or (kind == 'hold' and wasRefused) then add(operation.keys, amount, 1) end
  if kind == 'release' and not wasRefused then add(operation.keys, -amount, -1) end
end

if ask.verb == 'begin' then
  if isHere and ask.epoch > 0 and (not id or tonumber(string.match(id, '^%d+')) < ask.epoch) then
    local time = call('TIME')
    call('UNLINK', book, sums, refused)
    id, partitions, isOpen, done = string.format('%d:%s.%06d', ask.epoch, time[1], time[2]), ask.partitions, '', '1'
    call('HSET', book, 'id', id, 'partitions', partitions, 'open', '', 'committed', '0', 'held', heldNow())
  end
else
  local isBehind = false
  for i, part in ipairs(ask.parts) do
    local base, at = unpack(call('HMGET', book, 'base ' .. part.partition, 'at ' .. part.partition))
    isBehind = isBehind or not at or tonumber(at) < part.acknowledged
    parts[i] = { base or '', at or '' }
  end
  if ask.id == id and isHere and (ask.verb == 'commit' or (isOpen == '1' and not isBehind)) then
    call('HDEL', book, 'id')
    for i, part in ipairs(ask.parts) do
      local at = tonumber(parts[i][2])
      if not at then
        for _, sum in ipairs(part.sums) do add({ sum.key }, sum.amountCents, sum.count) end
        parts[i] = { part.applied, part.applied }
        isOpen = call('HINCRBY', book, 'committed', 1) == tonumber(partitions) and '1' or ''
      elseif ask.verb == 'apply' then
        for _, operation in ipairs(part.operations) do
          local request = operation.requestId
          if operation.offset >= at then takeIn(operation) end
          if operation.kind == 'reserve' and call('SISMEMBER', refused, request) == 1 then table.insert(refusals, request) end
        end
        parts[i][2] = math.max(at, part.applied)
      end
      call('HSET', book, 'base ' .. part.partition, parts[i][1], 'at ' .. part.partition, parts[i][2])
    end
    call('HSET', book, 'open', isOpen, 'held', heldNow(), 'id', id)
    done = '1'
  end
end

local fields = id and isOpen ~= '1' and call('HKEYS', book) or {}
return { { server, id or '', partitions or '', isOpen or '', done }, parts, fields, refusals }
