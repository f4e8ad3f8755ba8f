-- Folds one batch into the views of a partition where they stand at its first record, whole; else changes nothing.
-- KEYS applied, generations, of all partitions. ARGV prefix, partition, first, next, name for a new generation, changes.
-- Returns { applied before } where out of step, else { '', refused requests }.

local prefix, partition, first = ARGV[1], ARGV[2], ARGV[3]
local applied = call('HGET', KEYS[1], partition) or '0'
if applied ~= first then return { applied } end

local generation = call('HGET', KEYS[2], partition)
if first == '0' then
  -- Views begun anew: what an earlier fold or an unfinished one left is not built upon.
  if generation then
    call('SADD', prefix .. 'garbage', partition .. ':' .. generation)
    call('HDEL', KEYS[2], partition)
    generation = false
  end
  call('DEL', prefix .. 'restoring:' .. partition)
end
if not generation and #ARGV > 5 then
  generation = ARGV[5]
  call('HSET', KEYS[2], partition, generation)
end
base = prefix .. 'v:' .. partition .. ':' .. (generation or '') .. ':'
local taking = call('EXISTS', prefix .. 'taking:' .. partition) == 1
if taking then
  local undo = base .. 'undo'
  keep = function(name, old) call('HSETNX', undo, name, old or '') end
end

-- Should this script die half way, the views of the partition are gone, not wrong.
call('HDEL', KEYS[1], partition)

local at = 5
local function take()
  at = at + 1
  return ARGV[at]
end
local refused = { '' }
local bases

-- All buckets of caps that limit anything are asked for at once: few calls for each partition of the desk.
local function fits(caps, amount, time)
  local keys, limiting, from = {}, {}, {}
  for _, cap in ipairs(caps) do
    if cap.amount ~= '' or cap.count ~= '' then
      limiting[#limiting + 1] = cap
      from[#limiting] = #keys
      for _, key in ipairs(cap.keys) do keys[#keys + 1] = key end
    end
  end
  if #keys == 0 then return true end
  local used = usageOf(bases, keys, time)
  for i, cap in ipairs(limiting) do
    local sum, count = tonumber(amount), 1
    for j = from[i] + 1, from[i] + #cap.keys do
      sum = sum + used[j][1]
      count = count + used[j][2]
    end
    if cap.amount ~= '' and sum > tonumber(cap.amount) then return false end
    if cap.count ~= '' and count > tonumber(cap.count) then return false end
  end
  return true
end

local function takeCaps()
  local caps = {}
  for i = 1, tonumber(take()) do
    local cap = { amount = take(), count = take(), keys = {} }
    for j = 1, tonumber(take()) do cap.keys[j] = take() end
    caps[i] = cap
  end
  return caps
end

local changes = {}

function changes.S()
  local id, header, json = take(), take(), take()
  putRow(id, header, json)
  for _ = 1, tonumber(take()) do call('HSET', base .. 'bids', take(), id) end
end

function changes.R()
  local id, time, amount, expiresAt, force, keys = take(), take(), take(), take(), take() == '1', take()
  local caps = takeCaps()
  local old = call('HGET', base .. 'exp', id)
  local status = old and string.sub(old, 1, 1)
  if status == 'h' or status == 'c' then return end
  if not status or force then
    bases = bases or basesOf(KEYS[2], prefix)
    if force or fits(caps, amount, time) then
      putExposure(id, old, 'h', amount, expiresAt, keys)
      promise(id, amount, expiresAt, keys)
      return
    end
    putExposure(id, old, 'r', '0', '0', '[]')
    status = 'r'
  end
  if status == 'r' then refused[#refused + 1] = id end
end

function changes.X()
  local id = take()
  local old = call('HGET', base .. 'exp', id)
  local status, amount, _, keys = splitExposure(old or '')
  if status ~= 'h' and status ~= 'c' then return end
  takeBack(id, amount, keys)
  putExposure(id, old, 'l', '0', '0', '[]')
end

function changes.C()
  local id, expiresAt = take(), take()
  local old = call('HGET', base .. 'exp', id)
  local status, amount, _, keys = splitExposure(old or '')
  if status ~= 'h' and status ~= 'c' then return end
  putExposure(id, old, 'c', amount, expiresAt, keys)
  for _, key in ipairs(cjson.decode(keys)) do call('ZADD', base .. 'z:' .. key, expiresAt, id) end
end

-- src/domain/histogram.ts, foldResult: the same operations in the same order.
local function fold(name, cell, time, halfLife)
  local key = base .. 'h:' .. name
  local head = call('GETRANGE', key, 0, 23)
  if head == '' then
    keep('s' .. name, '')
    head = struct.pack('<ddd', time, 0, halfLife)
    call('SETRANGE', key, 0, head .. string.rep('\0', 499 * 8))
    call('SADD', base .. 'stats', name)
  elseif taking and call('HEXISTS', base .. 'undo', 's' .. name) == 0 then
    keep('s' .. name, call('GET', key))
  end
  local landmark, count = struct.unpack('<ddd', head)
  local exponent = (0.6931471805599453 * (time - landmark)) / halfLife
  if exponent > 40 then
    local shrink = exp(-exponent)
    local cells = { struct.unpack('<' .. string.rep('d', 499), call('GETRANGE', key, 24, -1)) }
    for i = 1, 499 do cells[i] = struct.pack('<d', cells[i] * shrink) end
    call('SETRANGE', key, 24, table.concat(cells, '', 1, 499))
    landmark = time
    exponent = 0
  end
  local place = 24 + 8 * cell
  local weight = struct.unpack('<d', call('GETRANGE', key, place, place + 7)) + exp(exponent)
  call('SETRANGE', key, place, struct.pack('<d', weight))
  call('SETRANGE', key, 0, struct.pack('<ddd', landmark, count + 1, halfLife))
end

function changes.L()
  local cell, time, halfLife = tonumber(take()), tonumber(take()), take()
  halfLife = halfLife == 'Infinity' and math.huge or tonumber(halfLife)
  for _ = 1, tonumber(take()) do fold(take(), cell, time, halfLife) end
end

while at < #ARGV do changes[take()]() end
call('HSET', KEYS[1], partition, ARGV[4])
return refused
