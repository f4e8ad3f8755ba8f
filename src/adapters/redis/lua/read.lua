-- What the views say, over the generations of all partitions as they are at this moment.
-- KEYS generations, applied. ARGV prefix, question, its arguments. What a key of a partition has to hold is looked at first
-- (holds.lua): one partition that lacks something is said to be folded up to 0, and a question to all is an error.

local prefix, question = ARGV[1], ARGV[2]
local rest = {}
for i = 3, #ARGV do rest[i - 2] = ARGV[i] end

-- A row whose state stands on a page says on which one, and of which key; such a row is short.
local function placed(b, row)
  if #row < 200 and string.find(row, '\t@', 1, true) then return row .. ':' .. b .. 'pages' end
  return row
end

-- Flat triples: request, row, reservation or ''.
local function rowsOf(b, ids, found)
  if #ids == 0 then return ids end
  local rows = redis.call('HMGET', b .. 'rows', unpack(ids))
  local present, places, absent = {}, {}, {}
  for i, id in ipairs(ids) do
    if rows[i] then
      present[#present + 1] = id
      places[#places + 1] = i
    else
      absent[#absent + 1] = id
    end
  end
  -- Most partitions hold none of them.
  if #present == 0 then return absent end
  local exposures = redis.call('HMGET', b .. 'exp', unpack(present))
  for i, id in ipairs(present) do
    found[#found + 1] = id
    found[#found + 1] = placed(b, rows[places[i]])
    found[#found + 1] = exposures[i] or ''
  end
  return absent
end

-- Ends the script where nobody can say. `wanted`: what the answer is made of.
local function refuseLack(wanted)
  local partition, lack = lackAnywhere(prefix, KEYS[2], KEYS[1], wanted)
  if partition then error({ err = 'VIEWSLOST partition ' .. partition .. ': ' .. lack }) end
end

local questions = {}

function questions.read()
  refuseLack({ 'rows', 'exp' })
  local found = {}
  for _, b in ipairs(basesOf(KEYS[1], prefix)) do rest = rowsOf(b, rest, found) end
  return found
end

-- Where a partition is at this moment, and the base of its keys or nil. `wanted`: what the answer is made of.
local function placeOf(partition, wanted)
  local stood = redis.call('HMGET', KEYS[2], partition, partition .. ':holds')
  local generation = redis.call('HGET', KEYS[1], partition)
  if lackOf(prefix, partition, stood[1], generation, stood[2], wanted) then return '0' end
  -- What a fold left that broke off is not what it says.
  if not stood[1] then return '0' end
  return stood[1], generation and baseOf(prefix, partition, generation)
end

-- How far partitions are folded.
function questions.applied()
  local found = {}
  for i, partition in ipairs(rest) do found[i] = placeOf(partition, heldNames) end
  return found
end

-- Rows of one partition, its offset first.
function questions.at()
  local applied, b = placeOf(table.remove(rest, 1), { 'rows', 'exp' })
  local found = { applied }
  if b then rowsOf(b, rest, found) end
  return found
end

-- One page of a partition's open rows, its offset and its next cursor first.
function questions.open()
  local applied, b = placeOf(rest[1], { 'open', 'rows', 'exp' })
  if not b then return { applied, '0' } end
  local page = redis.call('SSCAN', b .. 'open', rest[2], 'COUNT', rest[3])
  local found = { applied, page[1] }
  -- A small set is answered whole, whatever the count: more than may stand on Lua's stack.
  for from = 1, #page[2], 1000 do
    local ids = {}
    for i = from, math.min(from + 999, #page[2]) do ids[#ids + 1] = page[2][i] end
    rowsOf(b, ids, found)
  end
  return found
end

function questions.bids()
  refuseLack({ 'bids' })
  local found = {}
  for _, b in ipairs(basesOf(KEYS[1], prefix)) do
    for i, id in ipairs(redis.call('HMGET', b .. 'bids', unpack(rest))) do
      if id then
        found[#found + 1] = rest[i]
        found[#found + 1] = id
      end
    end
  end
  return found
end

-- The same, where nothing is missing; else nothing.
function questions.wholeUsage()
  if not areWhole(prefix, KEYS[2], KEYS[1]) then return {} end
  return questions.usage()
end

function questions.usage()
  refuseLack(capKeys)
  local time = table.remove(rest, 1)
  local found = {}
  for _, sum in ipairs(usageOf(basesOf(KEYS[1], prefix), rest, time)) do
    found[#found + 1] = string.format('%.0f', sum[1])
    found[#found + 1] = string.format('%.0f', sum[2])
  end
  return found
end

-- Flat pairs: key, histogram of one partition.
function questions.statistics()
  local found = {}
  for _, b in ipairs(basesOf(KEYS[1], prefix)) do
    for _, key in ipairs(rest) do
      local histogram = redis.call('GET', b .. 'h:' .. key)
      if histogram then
        found[#found + 1] = key
        found[#found + 1] = histogram
      end
    end
  end
  return found
end

-- Byte by byte: Lua's own comparison follows the server's locale.
local function isLater(a, b)
  for i = 1, math.min(#a.cursor, #b.cursor) do
    local x, y = string.byte(a.cursor, i), string.byte(b.cursor, i)
    if x ~= y then return x > y end
  end
  return #a.cursor > #b.cursor
end

function questions.query()
  refuseLack(allKeys)
  local limit, before = tonumber(rest[1]), rest[2]
  local from = before == '' and '+' or '(' .. before
  local cursors = {}
  for _, b in ipairs(basesOf(KEYS[1], prefix)) do
    for i = 3, #rest do
      for _, cursor in ipairs(redis.call('ZREVRANGEBYLEX', b .. 'c:' .. rest[i], from, '-', 'LIMIT', 0, limit)) do
        cursors[#cursors + 1] = { cursor = cursor, base = b }
      end
    end
  end
  table.sort(cursors, isLater)
  local found = {}
  for i = 1, math.min(limit, #cursors) do rowsOf(cursors[i].base, { string.sub(cursors[i].cursor, 17) }, found) end
  return found
end

return questions[question]()
