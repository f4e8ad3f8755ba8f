-- Folds one batch into the views of a partition where they stand at its first record, whole; else changes nothing.
-- KEYS applied, generations, of all partitions. ARGV prefix, partition, first, next, name for a new generation, how many
-- cap keys any change may be refused by, these, how many requests any change promises money for or takes it back from, these,
-- how many statistics learn, these, the lessons, changes. They are numbers, as a list in JSON; a lesson is: time, half-life in ms, half-life
-- in results, number of additions, number of statistics, then cell and amount of each addition, then the place of each
-- statistic among those above. What a batch comes to is written at its end: nearly all that is promised in a long one is taken back in it.
-- Returns { applied before } where out of step, else { '', whether the views were whole ('1', '0'), refused requests }. While
-- they are not, what is promised elsewhere may be missing: then nobody is refused, and whoever has a claim looks for room later.
-- Where a key of the partition does not hold what it has to, the views of the partition are given up: out of step at 0.

local prefix, partition, first = ARGV[1], ARGV[2], ARGV[3]
local stood = call('HMGET', KEYS[1], partition, partition .. ':holds')
local applied = stood[1] or '0'
local generation = call('HGET', KEYS[2], partition)
local lack = lackOf(prefix, partition, stood[1], generation, stood[2], heldNames)
if lack then
  giveUp(prefix, KEYS[1], KEYS[2], partition, lack)
  applied, generation = '0', false
end
if applied ~= first then return { applied } end

if first == '0' then
  -- Views begun anew: what an earlier fold or an unfinished one left is not built upon.
  if call('HEXISTS', KEYS[1], partition) == 0 then call('DEL', prefix .. 'whole') end
  if generation then
    call('SADD', prefix .. 'garbage', partition .. ':' .. generation)
    call('HDEL', KEYS[2], partition)
    generation = false
  end
  call('DEL', prefix .. 'restoring:' .. partition)
end
if not generation and #ARGV > 9 then
  generation = ARGV[5]
  call('HSET', KEYS[2], partition, generation)
end
base = baseOf(prefix, partition, generation or '')
-- Views begun anew hold nothing yet; those that an earlier version folded last are counted.
local held = first ~= '0' and isCurrent(stood[2], first) and heldIn(stood[2]) or countedOf(prefix, partition, first, generation)
local taking = call('GET', prefix .. 'taking:' .. partition)
if taking then
  local undo = base .. 'undo'
  keep = function(name, old) call('HSETNX', undo, name, old or '') end
end

local whole = ARGV[6] == '0' or areWhole(prefix, KEYS[1], KEYS[2], partition)

-- Should this script die half way, the views of the partition are gone, not wrong.
call('HDEL', KEYS[1], partition, partition .. ':holds')

local at = 5
local function take()
  at = at + 1
  return ARGV[at]
end
local refused = { '', whole and '1' or '0' }
local function takeList()
  local list = {}
  for i = 1, tonumber(take()) do list[i] = take() end
  return list
end

-- More than may stand on Lua's stack at once.
local atOnce = 1000
local function inParts(list, work)
  for from = 1, #list, atOnce do work(from, math.min(from + atOnce - 1, #list)) end
end

local function callAll(command, key, list)
  inParts(list, function(from, upTo) call(command, key, unpack(list, from, upTo)) end)
end

-- Calls back with each of the fields and its value or false.
local function readAll(key, fields, found)
  inParts(fields, function(from, upTo)
    for i, value in ipairs(call('HMGET', key, unpack(fields, from, upTo))) do found(fields[from + i - 1], value) end
  end)
end

local limiting = takeList()

-- What is promised for a request. `stored`: it stands under its cap keys.
local exposures = {}
readAll(base .. 'exp', takeList(), function(id, text)
  local own = { was = text }
  if text then own.status, own.amount, own.expiresAt, own.keys = splitExposure(text) end
  own.stored = own.status == 'h' or own.status == 'c'
  exposures[id] = own
end)

local function capKeysOf(own)
  own.list = own.list or cjson.decode(own.keys)
  return own.list
end

-- What this batch adds to a cap key so far: cents, requests, and their expiries by request, false for one that leaves.
local pending = {}
local function pendingOf(key)
  local own = pending[key]
  if not own then
    own = { amount = 0, count = 0, members = {} }
    pending[key] = own
  end
  return own
end

-- What stands under the limiting keys of this partition and of the others: each is asked for once, when it is first needed.
local sumsHere, sumsElsewhere

local function flush()
  local texts = {}
  for id, own in pairs(exposures) do
    if own.changed then
      local text = own.status .. '|' .. own.amount .. '|' .. own.expiresAt .. '|' .. own.keys
      keep('x' .. id, own.was)
      texts[#texts + 1], texts[#texts + 2] = id, text
      own.was, own.changed = text, false
      own.stored = own.status == 'h' or own.status == 'c'
    end
  end
  callAll('HSET', base .. 'exp', texts)
  local changed = {}
  for key, sum in pairs(pending) do
    local z, coming, leaving = base .. 'z:' .. key, {}, {}
    for id, expiresAt in pairs(sum.members) do
      if expiresAt then coming[#coming + 1], coming[#coming + 2] = expiresAt, id else leaving[#leaving + 1] = id end
    end
    callAll('ZADD', z, coming)
    callAll('ZREM', z, leaving)
    if next(sum.members) then changed[#changed + 1] = key end
  end
  local sums, gone = {}, {}
  for _, sum in pairs(pending) do held.cents, held.requests = held.cents + sum.amount, held.requests + sum.count end
  readAll(base .. 'sums', changed, function(key, text)
    local amount, count = 0, 0
    if text then amount, count = splitSum(text) end
    amount, count = amount + pending[key].amount, count + pending[key].count
    if call('ZCARD', base .. 'z:' .. key) ~= count then
      lacking = 'z:' .. key
    elseif count == 0 then
      gone[#gone + 1] = key
    else
      local first = call('ZRANGE', base .. 'z:' .. key, 0, 0, 'WITHSCORES')
      sums[#sums + 1], sums[#sums + 2] = key, sumText(amount, count, tonumber(first[2]))
    end
  end)
  callAll('HSET', base .. 'sums', sums)
  callAll('HDEL', base .. 'sums', gone)
  pending, sumsHere = {}, nil
end

-- Adds what some partitions promised under the limiting keys, expired ones too; `bases` are those that did.
local function lookAt(bases)
  local found = {}
  for _, b in ipairs(bases) do
    readAll(b .. 'sums', limiting, function(key, text)
      if not text then return end
      local amount, count, earliest = splitSum(text)
      local sum = found[key] or { amount = 0, count = 0, earliest = math.huge, bases = {} }
      found[key] = sum
      sum.amount, sum.count, sum.earliest = sum.amount + amount, sum.count + count, math.min(sum.earliest, earliest)
      sum.bases[#sum.bases + 1] = b
    end)
  end
  return found
end

local function lookEverywhere()
  sumsHere = sumsHere or lookAt({ base })
  if sumsElsewhere then return end
  local others = {}
  for _, b in ipairs(basesOf(KEYS[2], prefix)) do
    if b ~= base then others[#others + 1] = b end
  end
  sumsElsewhere = lookAt(others)
end

local function usedAt(sum, key, time)
  if not sum then return 0, 0 end
  if sum.earliest > tonumber(time) then return sum.amount, sum.count end
  local used = usageOf(sum.bases, { key }, time)[1]
  return used[1], used[2]
end

-- Were what has expired still promised: more than is used, and told without looking for it.
local function atMost(key)
  local amount, count = 0, 0
  for _, sums in ipairs({ sumsHere, pending, sumsElsewhere }) do
    local sum = sums[key]
    if sum then amount, count = amount + sum.amount, count + sum.count end
  end
  return amount, count
end

local function haveRoom(caps, amount, usedOf)
  for _, cap in ipairs(caps) do
    local sum, count = tonumber(amount), 1
    for _, key in ipairs(cap.keys) do
      local used, number = usedOf(key)
      sum = sum + used
      count = count + number
    end
    if cap.amount ~= '' and sum > tonumber(cap.amount) then return false end
    if cap.count ~= '' and count > tonumber(cap.count) then return false end
  end
  return true
end

-- `limits` arguments from here on say what limits a reservation.
local function fits(limits, amount, time)
  local caps, stop = {}, at + limits
  while at < stop do caps[#caps + 1] = { amount = take(), count = take(), keys = takeList() } end
  if #caps == 0 or not whole then return true end
  lookEverywhere()
  if haveRoom(caps, amount, atMost) then return true end
  if next(pending) then flush() end
  lookEverywhere()
  return haveRoom(caps, amount, function(key)
    local here, number = usedAt(sumsHere[key], key, time)
    local there, more = usedAt(sumsElsewhere[key], key, time)
    return here + there, number + more
  end)
end

local function promise(id, own)
  for _, key in ipairs(capKeysOf(own)) do
    local sum = pendingOf(key)
    sum.amount, sum.count = sum.amount + tonumber(own.amount), sum.count + 1
    sum.members[id] = own.expiresAt
  end
end

local function takeBack(id, own)
  for _, key in ipairs(capKeysOf(own)) do
    local sum = pendingOf(key)
    sum.amount, sum.count = sum.amount - tonumber(own.amount), sum.count - 1
    if own.stored then sum.members[id] = false else sum.members[id] = nil end
  end
end

local function put(own, status, amount, expiresAt, keys)
  own.status, own.amount, own.expiresAt, own.keys, own.list, own.changed = status, amount, expiresAt, keys, nil, true
end

local changes = {}

-- By request: where it stood before this batch, and the last of its rows. By bid: its requests, and in which order bids came.
local rows, bids, bidOrder = {}, {}, {}

function changes.S()
  local id, row = take(), take()
  local own = rows[id]
  if not own then
    own = { was = call('HGET', base .. 'rows', id) }
    rows[id] = own
  end
  own.row = row
  for _ = 1, tonumber(take()) do
    local bid = take()
    if not bids[bid] then bids[bid], bidOrder[#bidOrder + 1] = {}, bid end
    bids[bid][id] = true
  end
end

function changes.R()
  local id, time, amount, expiresAt, force, keys, limits = take(), take(), take(), take(), take() == '1', take(), tonumber(take())
  local next = at + limits
  local own = exposures[id]
  local status = own.status
  if status ~= 'h' and status ~= 'c' and (not status or force) then
    if force or fits(limits, amount, time) then
      put(own, 'h', amount, expiresAt, keys)
      promise(id, own)
    else
      put(own, 'r', '0', '0', '[]')
      status = 'r'
    end
  end
  at = next
  if status == 'r' and not force then refused[#refused + 1] = id end
end

function changes.X()
  local id = take()
  local own = exposures[id]
  if own.status ~= 'h' and own.status ~= 'c' then return end
  takeBack(id, own)
  put(own, 'l', '0', '0', '[]')
end

function changes.C()
  local id, expiresAt = take(), take()
  local own = exposures[id]
  if own.status ~= 'h' and own.status ~= 'c' then return end
  own.status, own.expiresAt, own.changed = 'c', expiresAt, true
  for _, key in ipairs(capKeysOf(own)) do pendingOf(key).members[id] = expiresAt end
end

local function headerOf(row)
  return string.sub(row, 1, string.find(row, '\t', 1, true) - 1)
end

local function phaseOf(header)
  return string.match(header, '^[^|]+')
end

local function cursor(header, id)
  return string.match(header, '|(%d+)$') .. ':' .. id
end

-- As `domain/code-holders.ts` writes them: one request, unless the service gave a code to several.
local mostHolders = 8

-- By bytes: what Lua compares by is the locale of the server.
local function isBefore(one, other)
  for i = 1, math.min(#one, #other) do
    local left, right = string.byte(one, i), string.byte(other, i)
    if left ~= right then return left < right end
  end
  return #one < #other
end

local function holdersAfter(stored, came)
  for id in string.gmatch(stored or '', '%S+') do came[id] = true end
  local holders = {}
  for id in pairs(came) do holders[#holders + 1] = id end
  table.sort(holders, isBefore)
  return table.concat(holders, ' ', 1, math.min(#holders, mostHolders))
end

local function writeBids()
  local pairsToSet = {}
  inParts(bidOrder, function(from, upTo)
    local stored = call('HMGET', base .. 'bids', unpack(bidOrder, from, upTo))
    for i = from, upTo do
      local bid, before = bidOrder[i], stored[i - from + 1]
      local after = holdersAfter(before, bids[bid])
      if after ~= before then pairsToSet[#pairsToSet + 1], pairsToSet[#pairsToSet + 2] = bid, after end
    end
  end)
  callAll('HSET', base .. 'bids', pairsToSet)
end

local changedPhases = {}

local function writeRows()
  local texts, opened, closed = {}, {}, {}
  local coming, leaving = {}, {}
  local function add(all, phase, ...)
    local list = all[phase] or {}
    all[phase] = list
    for _, item in ipairs({ ... }) do list[#list + 1] = item end
  end
  for id, own in pairs(rows) do
    keep('r' .. id, own.was)
    texts[#texts + 1], texts[#texts + 2] = id, own.row
    local header, before = headerOf(own.row), own.was and headerOf(own.was)
    if before ~= header then
      if before then add(leaving, phaseOf(before), cursor(before, id)) end
      add(coming, phaseOf(header), '0', cursor(header, id))
      if string.find(header, '|1|', 1, true) then
        opened[#opened + 1] = id
      elseif before then
        closed[#closed + 1] = id
      end
    end
  end
  callAll('HSET', base .. 'rows', texts)
  writeBids()
  callAll('SADD', base .. 'open', opened)
  callAll('SREM', base .. 'open', closed)
  for phase, cursors in pairs(leaving) do
    changedPhases[phase] = true
    callAll('ZREM', base .. 'c:' .. phase, cursors)
  end
  for phase, cursors in pairs(coming) do
    changedPhases[phase] = true
    callAll('ZADD', base .. 'c:' .. phase, cursors)
  end
end

-- The keys were as they have to be when this began: what this wrote is measured.
local function putHolds()
  call('HSET', KEYS[1], partition, ARGV[4])
  if not generation then return end
  measure(held, base)
  held.at, held.generation = ARGV[4], generation
  call('HSET', KEYS[1], partition .. ':holds', heldText(held))
  local sizes = {}
  for phase in pairs(changedPhases) do sizes[#sizes + 1], sizes[#sizes + 2] = phase, sizeOf(base, 'c:' .. phase) end
  callAll('HSET', base .. 'phases', sizes)
  if taking then call('HSET', KEYS[1], partition .. ':undo', call('HLEN', base .. 'undo') .. '|' .. taking) end
end

learn(takeList(), cjson.decode(take()))
while at < #ARGV do changes[take()]() end
writeRows()
flush()
if lacking then
  giveUp(prefix, KEYS[1], KEYS[2], partition, lacking)
  return { '0' }
end
putHolds()
return refused
