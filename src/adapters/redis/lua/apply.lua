-- Folds one batch into the views of a partition where they stand at its first record, whole; else changes nothing.
-- KEYS applied, generations, of all partitions. ARGV prefix, partition, first, next, name for a new generation, how many
-- cap keys any change may be refused by, these, changes.
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
if not generation and #ARGV > 6 then
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
local limiting = {}
for i = 1, tonumber(take()) do limiting[i] = take() end

-- What other partitions promised stands still while this runs: it is asked for once, for all keys that limit anything.
local elsewhere
local function lookElsewhere()
  elsewhere = {}
  for _, b in ipairs(basesOf(KEYS[2], prefix)) do
    for from = 1, b == base and 0 or #limiting, 1000 do
      local upTo = math.min(from + 999, #limiting)
      for i, amount in ipairs(call('HMGET', b .. 'amounts', unpack(limiting, from, upTo))) do
        if amount then
          local key = limiting[from + i - 1]
          local found = elsewhere[key] or { amount = 0, count = 0, earliest = math.huge, bases = {} }
          elsewhere[key] = found
          found.amount = found.amount + tonumber(amount)
          found.count = found.count + call('ZCARD', b .. 'z:' .. key)
          found.earliest = math.min(found.earliest, tonumber(call('ZRANGE', b .. 'z:' .. key, 0, 0, 'WITHSCORES')[2]) or math.huge)
          found.bases[#found.bases + 1] = b
        end
      end
    end
  end
end

local function usedElsewhere(key, time)
  local found = elsewhere[key]
  if not found then return 0, 0 end
  if found.earliest > tonumber(time) then return found.amount, found.count end
  local used = usageOf(found.bases, { key }, time)[1]
  return used[1], used[2]
end

-- `limits` arguments from here on say what limits a reservation.
local function fits(limits, amount, time)
  local caps, keys, stop = {}, {}, at + limits
  while at < stop do
    local cap = { amount = take(), count = take(), from = #keys + 1 }
    for _ = 1, tonumber(take()) do keys[#keys + 1] = take() end
    cap.upTo = #keys
    caps[#caps + 1] = cap
  end
  if #keys == 0 then return true end
  if not elsewhere then lookElsewhere() end
  local used = usageOf({ base }, keys, time)
  for _, cap in ipairs(caps) do
    local sum, count = tonumber(amount), 1
    for i = cap.from, cap.upTo do
      local sumElsewhere, countElsewhere = usedElsewhere(keys[i], time)
      sum = sum + used[i][1] + sumElsewhere
      count = count + used[i][2] + countElsewhere
    end
    if cap.amount ~= '' and sum > tonumber(cap.amount) then return false end
    if cap.count ~= '' and count > tonumber(cap.count) then return false end
  end
  return true
end

local changes = {}

function changes.S()
  local id, header, json = take(), take(), take()
  putRow(id, header, json)
  for _ = 1, tonumber(take()) do call('HSET', base .. 'bids', take(), id) end
end

function changes.R()
  local id, time, amount, expiresAt, force, keys, limits = take(), take(), take(), take(), take() == '1', take(), tonumber(take())
  local next = at + limits
  local old = call('HGET', base .. 'exp', id)
  local status = old and string.sub(old, 1, 1)
  if status ~= 'h' and status ~= 'c' and (not status or force) then
    if force or fits(limits, amount, time) then
      putExposure(id, old, 'h', amount, expiresAt, keys)
      promise(id, amount, expiresAt, keys)
    else
      putExposure(id, old, 'r', '0', '0', '[]')
      status = 'r'
    end
  end
  at = next
  if status == 'r' and not force then refused[#refused + 1] = id end
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

-- Histograms that lessons of this batch touch: read once, written once at the end. By key, and in the order of their coming.
local open, opened = {}, {}

local function histogramOf(name, time)
  local known = open[name]
  if known then return known end
  local key = base .. 'h:' .. name
  local bytes = call('GET', key)
  keep('s' .. name, bytes)
  local isNew = not bytes
  if isNew then
    bytes = struct.pack('<ddddd', time, 0, 0, 0, 0) .. string.rep('\0', 8 * cellCount)
    call('SADD', base .. 'stats', name)
  end
  local landmark, landmarkCount, count = struct.unpack('<ddd', bytes)
  known = { key = key, bytes = bytes, isNew = isNew, landmark = landmark, landmarkCount = landmarkCount, count = count }
  known.length = (#bytes - headBytes) / 8
  -- Those that change, by index from 0.
  known.cells = {}
  open[name] = known
  opened[#opened + 1] = known
  return known
end

local function cellOf(histogram, index)
  local changed = histogram.cells[index]
  if changed then return changed end
  local at = headBytes + 8 * index + 1
  return at < #histogram.bytes and (struct.unpack('<d', histogram.bytes, at)) or 0
end

-- src/domain/histogram.ts, foldSums: the same operations in the same order.
local function fold(name, lesson)
  local histogram = histogramOf(name, lesson.time)
  local cells = histogram.cells
  local count = histogram.count + 1
  local exponent = 0.6931471805599453
    * ((lesson.time - histogram.landmark) / lesson.halfLifeMs + (count - histogram.landmarkCount) / lesson.halfLifeResults)
  if exponent > 40 then
    local shrink = exp(-exponent)
    for index = 0, histogram.length - 1 do cells[index] = cellOf(histogram, index) * shrink end
    histogram.landmark, histogram.landmarkCount, exponent = lesson.time, count, 0
  end
  if lesson.highest >= cellCount then histogram.length = 2 * cellCount end
  if #lesson.indexes > 0 then
    local weight = exp(exponent)
    for i, index in ipairs(lesson.indexes) do cells[index] = cellOf(histogram, index) + lesson.amounts[i] * weight end
  end
  histogram.count = count
  histogram.halfLifeMs, histogram.halfLifeResults = lesson.halfLifeMs, lesson.halfLifeResults
end

-- Neighbours are written together; where much changed, the whole.
local mostRuns = 16
local function write(histogram)
  local h, cells, indexes = histogram, histogram.cells, {}
  for index in pairs(cells) do indexes[#indexes + 1] = index end
  table.sort(indexes)
  local runs = {}
  for _, index in ipairs(indexes) do
    local run = runs[#runs]
    if not run or index ~= run.next then
      run = { from = headBytes + 8 * index }
      runs[#runs + 1] = run
    end
    run[#run + 1] = struct.pack('<d', cells[index])
    run.next = index + 1
  end
  local head = struct.pack('<ddddd', h.landmark, h.landmarkCount, h.count, h.halfLifeMs, h.halfLifeResults)
  if h.isNew or #runs > mostRuns then
    local bytes = h.bytes .. string.rep('\0', headBytes + 8 * h.length - #h.bytes)
    local parts, at = { head }, headBytes
    for _, run in ipairs(runs) do
      parts[#parts + 1] = string.sub(bytes, at + 1, run.from)
      parts[#parts + 1] = table.concat(run)
      at = run.from + 8 * #run
    end
    parts[#parts + 1] = string.sub(bytes, at + 1)
    call('SET', h.key, table.concat(parts))
    return
  end
  local lacking = headBytes + 8 * h.length > #h.bytes
  if lacking then call('SETRANGE', h.key, headBytes + 8 * h.length - 1, '\0') end
  call('SETRANGE', h.key, 0, head)
  for _, run in ipairs(runs) do call('SETRANGE', h.key, run.from, table.concat(run)) end
end

local function takeHalfLife()
  local text = take()
  return text == 'Infinity' and math.huge or tonumber(text)
end

function changes.L()
  local lesson = { time = tonumber(take()), halfLifeMs = takeHalfLife(), halfLifeResults = takeHalfLife() }
  lesson.indexes, lesson.amounts, lesson.highest = {}, {}, -1
  for i = 1, tonumber(take()) do
    local index = tonumber(take())
    lesson.indexes[i], lesson.amounts[i] = index, tonumber(take())
    lesson.highest = math.max(lesson.highest, index)
  end
  for _ = 1, tonumber(take()) do fold(take(), lesson) end
end

while at < #ARGV do changes[take()]() end
for _, histogram in ipairs(opened) do write(histogram) end
call('HSET', KEYS[1], partition, ARGV[4])
return refused
