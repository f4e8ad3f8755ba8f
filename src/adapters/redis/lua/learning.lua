-- What a batch teaches the statistics of one partition. Uses `call`, `base` and `keep` of rows.lua, and exp.lua.

local cellCount = 499
local headBytes = 5 * 8

-- Histograms that lessons of this batch touch: read once, written once at the end.
local function readHistogram(name, time)
  local key = base .. 'h:' .. name
  local bytes = call('GET', key)
  keep('s' .. name, bytes)
  local isNew = not bytes
  if isNew then
    bytes = struct.pack('<ddddd', time, 0, 0, 0, 0) .. string.rep('\0', 8 * cellCount)
    if call('SADD', base .. 'stats', name) == 0 then lacking = 'h:' .. name end
  end
  local landmark, landmarkCount, count = struct.unpack('<ddd', bytes)
  local length = (#bytes - headBytes) / 8
  -- `cells`: those that change, by index from 0.
  return {
    key = key, bytes = bytes, isNew = isNew, landmark = landmark, landmarkCount = landmarkCount, count = count,
    length = length, cells = {},
  }
end

local function cellOf(histogram, index)
  local changed = histogram.cells[index]
  if changed then return changed end
  local at = headBytes + 8 * index + 1
  return at < #histogram.bytes and (struct.unpack('<d', histogram.bytes, at)) or 0
end

-- src/domain/histogram.ts, foldSums: the same operations in the same order.
local function fold(histogram, lesson)
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

local function learn(names, numbers)
  local histograms = {}
  local from = 1
  while from <= #numbers do
    local additions, statistics = numbers[from + 3], numbers[from + 4]
    local lesson = { time = numbers[from], halfLifeMs = numbers[from + 1], halfLifeResults = numbers[from + 2], highest = -1 }
    lesson.indexes, lesson.amounts = {}, {}
    from = from + 5
    for i = 1, additions do
      lesson.indexes[i], lesson.amounts[i] = numbers[from], numbers[from + 1]
      lesson.highest = math.max(lesson.highest, numbers[from])
      from = from + 2
    end
    for _ = 1, statistics do
      local place = numbers[from]
      histograms[place] = histograms[place] or readHistogram(names[place], lesson.time)
      fold(histograms[place], lesson)
      from = from + 1
    end
  end
  for _, histogram in pairs(histograms) do write(histogram) end
end
