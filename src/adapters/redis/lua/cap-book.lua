-- One step of the cap book, whole or not at all: see state/cap-book.ts. KEYS: the book, cents and counts by cap key, refused requests.
-- ARGV: verb, server, then as each verb says. Returns { { server, id, partitions, open ('1'), done ('1') }, base and at of each part,
-- partitions missing, requests refused }. A script that dies half way leaves a book without its id.
local call = redis.call
local book, cents, counts, refused = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local server = string.match(call('INFO', 'server'), 'run_id:(%x+)')
  .. ':' .. string.match(call('INFO', 'replication'), 'master_replid:(%x+)')
local at = 0
local function take()
  at = at + 1
  return ARGV[at]
end
local verb, isHere = take(), take() == server
local id, partitions, isOpen = unpack(call('HMGET', book, 'id', 'partitions', 'open'))
local done, parts, missing, refusals = '', {}, {}, {}

local function add(keys, amount, count)
  for _, key in ipairs(keys) do
    local sum, left = call('HINCRBY', cents, key, amount), call('HINCRBY', counts, key, count)
    if left == 0 and sum == 0 then
      call('HDEL', cents, key)
      call('HDEL', counts, key)
    end
    assert(left >= 0 and sum >= 0 and (left > 0 or sum == 0), 'more was released than reserved')
  end
end

local function takeKeys()
  local from = at + 2
  at = at + 1 + tonumber(ARGV[at + 1])
  return { unpack(ARGV, from, at) }
end

local function isFull(amount, limits)
  for i = 1, #limits, 3 do
    local sum, count = amount, 1
    for _, key in ipairs(limits[i + 2]) do
      sum = sum + tonumber(call('HGET', cents, key) or 0)
      count = count + tonumber(call('HGET', counts, key) or 0)
    end
    if sum > tonumber(limits[i]) or count > tonumber(limits[i + 1]) then return true end
  end
  return false
end

if verb == 'begin' then -- epoch, partitions
  local epoch, time = tonumber(take()), call('TIME')
  if isHere and epoch > 0 and (not id or tonumber(string.match(id, '^%d+')) < epoch) then
    call('UNLINK', book, cents, counts, refused)
    id, partitions, isOpen, done = string.format('%d:%s.%06d', epoch, time[1], time[2]), take(), '', '1'
    call('HSET', book, 'id', id, 'partitions', partitions, 'open', '', 'committed', '0')
  end
else -- id, number of parts; of each part: partition, how far it is to be, where it has to be
  local isMeant, isBehind = take() == id and isHere, false
  for i = 1, tonumber(take()) do
    local part = { name = take(), applied = take(), least = tonumber(take()) }
    part.base, part.at = unpack(call('HMGET', book, 'base ' .. part.name, 'at ' .. part.name))
    isBehind = isBehind or not part.at or tonumber(part.at) < part.least
    parts[i] = part
  end
  if isMeant and (verb == 'commit' or (isOpen == '1' and not isBehind)) then
    call('HDEL', book, 'id')
    for _, part in ipairs(parts) do
      local isNew, place = not part.at, tonumber(part.at)
      if isNew then part.base, part.at = part.applied, part.applied end
      for _ = 1, tonumber(take()) do
        local kind, offset, request, amount = take(), tonumber(take()), take(), take()
        local keys, limits = takeKeys(), {}
        if kind == 'sum' then -- the count stands in the place of the offset
          if isNew then add(keys, amount, offset) end
        else
          for _ = 1, tonumber(take()) do
            limits[#limits + 1], limits[#limits + 2], limits[#limits + 3] = take(), take(), takeKeys()
          end
          if offset >= place then
            local isFree = kind == 'reserve' and not isFull(tonumber(amount), limits)
            local wasRefused = kind ~= 'reserve' and call('SREM', refused, request) == 1
            if kind == 'reserve' and not isFree then call('SADD', refused, request) end
            if isFree or kind == 'count' or (kind == 'hold' and wasRefused) then add(keys, amount, 1) end
            if kind == 'release' and not wasRefused then add(keys, -tonumber(amount), -1) end
          end
          if kind == 'reserve' and call('SISMEMBER', refused, request) == 1 then refusals[#refusals + 1] = request end
        end
      end
      if tonumber(part.applied) > tonumber(part.at) and verb == 'apply' then part.at = part.applied end
      call('HSET', book, 'base ' .. part.name, part.base, 'at ' .. part.name, part.at)
      if isNew then isOpen = call('HINCRBY', book, 'committed', 1) == tonumber(partitions) and '1' or '' end
    end
    call('HSET', book, 'open', isOpen, 'id', id)
    done = '1'
  end
end

for i, part in ipairs(parts) do parts[i] = { part.base or '', part.at or '' } end
if id and isOpen ~= '1' then
  for name = 0, tonumber(partitions) - 1 do
    if call('HEXISTS', book, 'base ' .. name) == 0 then missing[#missing + 1] = name end
  end
end
return { { server, id or '', partitions or '', isOpen or '', done }, parts, missing, refusals }
