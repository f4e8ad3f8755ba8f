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

local cellCount = 499
local headBytes = 5 * 8

-- Numbers of a string of doubles; without the place where reading ended, which comes last.
local function cellsFrom(bytes)
  local cells = { struct.unpack('<' .. string.rep('d', #bytes / 8), bytes) }
  cells[#cells] = nil
  return cells
end

-- src/domain/histogram.ts, foldSums: the same operations in the same order.
local function shrinkAll(key, exponent)
  local shrink = exp(-exponent)
  local cells = cellsFrom(call('GETRANGE', key, headBytes, -1))
  for i = 1, #cells do cells[i] = struct.pack('<d', cells[i] * shrink) end
  call('SETRANGE', key, headBytes, table.concat(cells))
end

-- Additions lie close together: all between the lowest and the highest are read and written at once.
local function addTo(key, lesson, weight)
  local from = headBytes + 8 * lesson.lowest
  local cells = cellsFrom(call('GETRANGE', key, from, headBytes + 8 * lesson.highest + 7))
  for i = 1, #lesson.indexes do
    local cell = lesson.indexes[i] - lesson.lowest + 1
    cells[cell] = cells[cell] + lesson.amounts[i] * weight
  end
  for i = 1, #cells do cells[i] = struct.pack('<d', cells[i]) end
  call('SETRANGE', key, from, table.concat(cells))
end

local function fold(name, lesson)
  local key = base .. 'h:' .. name
  local head = call('GETRANGE', key, 0, headBytes - 1)
  if head == '' then
    keep('s' .. name, '')
    head = struct.pack('<ddddd', lesson.time, 0, 0, 0, 0)
    call('SETRANGE', key, 0, head .. string.rep('\0', 8 * cellCount))
    call('SADD', base .. 'stats', name)
  elseif taking and call('HEXISTS', base .. 'undo', 's' .. name) == 0 then
    keep('s' .. name, call('GET', key))
  end
  local landmark, landmarkCount, count = struct.unpack('<ddd', head)
  count = count + 1
  local exponent = 0.6931471805599453
    * ((lesson.time - landmark) / lesson.halfLifeMs + (count - landmarkCount) / lesson.halfLifeResults)
  if exponent > 40 then
    shrinkAll(key, exponent)
    landmark, landmarkCount, exponent = lesson.time, count, 0
  end
  if lesson.highest >= cellCount and call('STRLEN', key) < headBytes + 16 * cellCount then
    call('SETRANGE', key, headBytes + 16 * cellCount - 1, '\0')
  end
  if #lesson.indexes > 0 then addTo(key, lesson, exp(exponent)) end
  head = struct.pack('<ddddd', landmark, landmarkCount, count, lesson.halfLifeMs, lesson.halfLifeResults)
  call('SETRANGE', key, 0, head)
end

local function takeHalfLife()
  local text = take()
  return text == 'Infinity' and math.huge or tonumber(text)
end

function changes.L()
  local lesson = { time = tonumber(take()), halfLifeMs = takeHalfLife(), halfLifeResults = takeHalfLife() }
  lesson.indexes, lesson.amounts, lesson.lowest, lesson.highest = {}, {}, math.huge, -1
  for i = 1, tonumber(take()) do
    local index = tonumber(take())
    lesson.indexes[i], lesson.amounts[i] = index, tonumber(take())
    lesson.lowest, lesson.highest = math.min(lesson.lowest, index), math.max(lesson.highest, index)
  end
  for _ = 1, tonumber(take()) do fold(take(), lesson) end
end

while at < #ARGV do changes[take()]() end
call('HSET', KEYS[1], partition, ARGV[4])
return refused
