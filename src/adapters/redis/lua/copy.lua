-- Takes a copy of one partition's views as they stood at one offset while they go on changing: from its beginning on,
-- each fold keeps the value that it is the first to overwrite, and a page shows the kept value instead of the new one.
-- KEYS applied, generations, taking. ARGV prefix, partition, name of the copy, step, generation, arguments of the step.
-- A page is lines: a mark, an id as JSON, a value, with tabs between; neither tabs nor line breaks inside.
--   R request, row   E request, reservation   B bid, requests   H key, histogram as text
-- On the way, closed rows are put on pages: where a row is still what the copy shows of it, its state is replaced by its place.

local prefix, partition, name, step = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local keptMs = 60000
local generation = redis.call('HGET', KEYS[2], partition)
local applied = redis.call('HGET', KEYS[1], partition)
local taker = redis.call('GET', KEYS[3])
if not generation or not applied then return { 'gone' } end
-- A copy of views that lack something would bring the loss back later.
local line = redis.call('HGET', KEYS[1], partition .. ':holds')
if lackOf(prefix, partition, applied, generation, line, heldNames) then return { 'gone' } end
local b = baseOf(prefix, partition, generation)

if step == 'begin' then
  if taker and taker ~= name then return { 'busy' } end
  redis.call('UNLINK', b .. 'undo')
  redis.call('HDEL', KEYS[1], partition .. ':undo')
  redis.call('SET', KEYS[3], name, 'PX', keptMs)
  return { 'begun', applied, generation }
end
if taker ~= name or generation ~= ARGV[5] then return { 'gone' } end
-- How many values the folds kept since the copy began, if any did.
local kept, keptFor = string.match(redis.call('HGET', KEYS[1], partition .. ':undo') or '', '^(%d+)|(.*)$')
if keptFor == name and tonumber(kept) ~= redis.call('HLEN', b .. 'undo') then return { 'gone' } end
if step == 'end' then
  redis.call('UNLINK', b .. 'undo', KEYS[3])
  return { 'ended' }
end
redis.call('PEXPIRE', KEYS[3], keptMs)

local keepFrom = tonumber(ARGV[6])
local rest = {}
for i = 7, #ARGV do rest[i - 6] = ARGV[i] end
local cursor, count = rest[1], rest[2]

-- The value when the copy began; nil where there was none.
local function then_(kind, id, now)
  local kept = redis.call('HGET', b .. 'undo', kind .. id)
  if kept == '' then return nil end
  return kept or now
end

local function isWanted(row)
  local open, time = string.match(row, '^[^|]+|(%d)|(%d+)\t')
  return open == '1' or tonumber(time) >= keepFrom
end

local function isPlaced(row)
  return string.find(row, '^[^\t]+\t@') ~= nil
end

local found = { 'page' }
local function add(mark, id, value)
  found[#found + 1] = mark .. '\t' .. cjson.encode(id) .. '\t' .. value
end

-- 17 digits are enough to read the same double again. Most cells are empty.
local function textOf(histogram)
  local numbers = { struct.unpack('<' .. string.rep('d', #histogram / 8), histogram) }
  local cells = #histogram / 8 - 5
  local head = string.rep('%.17g|', 5) .. '%d'
  local parts = { string.format(head, numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], cells) }
  for cell = 0, cells - 1 do
    local weight = numbers[cell + 6]
    -- What faded below zero is -0, which is not what an empty cell holds.
    if weight ~= 0 or 1 / weight < 0 then parts[#parts + 1] = string.format('%d=%.17g', cell, weight) end
  end
  return table.concat(parts, ' ')
end

if step == 'pages' then
  for _, page in ipairs(redis.call('HKEYS', b .. 'pages')) do
    if page ~= 'last' then found[#found + 1] = page end
  end
elseif step == 'page' then
  found[2] = redis.call('HGET', b .. 'pages', rest[1]) or nil
elseif step == 'headers' then
  -- Of the requests of one page in their order: the header of each that the copy shows there, else ''.
  local page = table.remove(rest, 1)
  for i, id in ipairs(rest) do
    local row = then_('r', id, redis.call('HGET', b .. 'rows', id) or nil)
    local place = '\t@' .. page .. ':' .. (i - 1)
    local isThere = row and string.sub(row, -#place) == place and isWanted(row)
    found[i + 1] = isThere and string.sub(row, 1, -#place - 1) or ''
  end
elseif step == 'seal' then
  -- A page, then request and header of each of its rows.
  local page = redis.call('HINCRBY', b .. 'pages', 'last', 1)
  redis.call('HSET', b .. 'pages', page, rest[1])
  if isCurrent(line, applied) then
    local held = heldIn(line)
    held.page = page
    redis.call('HSET', KEYS[1], partition .. ':holds', heldText(held))
  end
  for i = 2, #rest, 2 do
    if redis.call('HEXISTS', b .. 'undo', 'r' .. rest[i]) == 0 then
      redis.call('HSET', b .. 'rows', rest[i], rest[i + 1] .. '\t@' .. page .. ':' .. (i / 2 - 1))
    end
  end
elseif step == 'drop' then
  -- A page whose requests have all moved on.
  local page = table.remove(rest, 1)
  for i, id in ipairs(rest) do
    local place = '\t@' .. page .. ':' .. (i - 1)
    local row = redis.call('HGET', b .. 'rows', id)
    if row and string.sub(row, -#place) == place then return found end
  end
  redis.call('HDEL', b .. 'pages', page)
elseif step == 'rows' then
  local page = redis.call('HSCAN', b .. 'rows', cursor, 'COUNT', count)
  found[2] = page[1]
  for i = 1, #page[2], 2 do
    local row = then_('r', page[2][i], page[2][i + 1])
    if row and isWanted(row) and not isPlaced(row) then add('R', page[2][i], row) end
  end
elseif step == 'exposures' then
  local page = redis.call('HSCAN', b .. 'exp', cursor, 'COUNT', count)
  found[2] = page[1]
  for i = 1, #page[2], 2 do
    local id = page[2][i]
    local exposure = then_('x', id, page[2][i + 1])
    local status = exposure and string.sub(exposure, 1, 1)
    if status == 'h' or status == 'c' then
      add('E', id, exposure)
    elseif exposure then
      -- How a reservation ended is told along with its row.
      local row = then_('r', id, redis.call('HGET', b .. 'rows', id) or nil)
      if not row or isWanted(row) then add('E', id, exposure) end
    end
  end
elseif step == 'bids' then
  -- Of the requests that the copy shows; those that became known since are true as well.
  local page = redis.call('HSCAN', b .. 'bids', cursor, 'COUNT', count)
  found[2] = page[1]
  for i = 1, #page[2], 2 do
    local shown = {}
    for id in string.gmatch(page[2][i + 1], '%S+') do
      local row = then_('r', id, redis.call('HGET', b .. 'rows', id) or nil)
      if row and isWanted(row) then shown[#shown + 1] = id end
    end
    if #shown > 0 then add('B', page[2][i], cjson.encode(table.concat(shown, ' '))) end
  end
elseif step == 'statistics' then
  local page = redis.call('SSCAN', b .. 'stats', cursor, 'COUNT', count)
  found[2] = page[1]
  for _, key in ipairs(page[2]) do
    local histogram = then_('s', key, redis.call('GET', b .. 'h:' .. key))
    if histogram then add('H', key, textOf(histogram)) end
  end
end
return found
