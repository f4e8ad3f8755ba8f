-- Puts a copy of one partition's views in the place of views that are gone. It is written beside, under the keys of a
-- generation of its own, and shown at once when complete: a restore that dies half way leaves nothing but garbage.
-- KEYS applied, generations, restoring. ARGV prefix, partition, name of the restore (its generation), step, arguments.
-- All but promised money is written beside this by plain commands: every string costs Lua something. The step "put" answers how many
-- reservations were new, and the cents and requests that they put under cap keys; "end" takes how many entries were new to each key,
-- as JSON, and these sums, and answers "lost" where a key holds less.

local prefix, partition, name, step = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local heldMs = 15000
local stood = call('HMGET', KEYS[1], partition, partition .. ':holds')
local lack = lackOf(prefix, partition, stood[1], call('HGET', KEYS[2], partition), stood[2], heldNames)
if lack then giveUp(prefix, KEYS[1], KEYS[2], partition, lack) end
if stood[1] and not lack then return { 'out-of-step' } end
local restorer = call('GET', KEYS[3])

if step == 'begin' then
  if restorer and restorer ~= name then return { 'busy' } end
  call('SET', KEYS[3], name, 'PX', heldMs)
  call('SADD', prefix .. 'garbage', partition .. ':' .. name)
  return { 'begun' }
end
if restorer ~= name then return { 'out-of-step' } end
call('PEXPIRE', KEYS[3], heldMs)

if step == 'end' then
  -- How many entries were new to each key, by the answers of the writes: one that lacks some was lost since.
  local held = countedOf(prefix, partition, ARGV[5], name)
  local isWhole = held.cents == tonumber(ARGV[7]) and held.requests == tonumber(ARGV[8])
  for key, size in pairs(cjson.decode(ARGV[6])) do
    isWhole = isWhole and sizeOf(baseOf(prefix, partition, name), key) == size
  end
  if not isWhole then
    call('DEL', KEYS[3])
    return { 'lost' }
  end
  local old = call('HGET', KEYS[2], partition)
  if old then call('SADD', prefix .. 'garbage', partition .. ':' .. old) end
  call('SREM', prefix .. 'garbage', partition .. ':' .. name)
  call('DEL', prefix .. 'whole')
  call('HSET', KEYS[2], partition, name)
  call('HSET', KEYS[1], partition, ARGV[5], partition .. ':holds', heldText(held))
  call('DEL', KEYS[3])
  return { 'ended' }
end

base = baseOf(prefix, partition, name)

-- More than may stand on Lua's stack at once.
local atOnce = 1000
local function callAll(command, key, list)
  for from = 1, #list, atOnce do call(command, key, unpack(list, from, math.min(from + atOnce - 1, #list))) end
end

-- Money that is promised: a request, and what is said of it, in turns. A scan may have shown an entry twice: it counts once.
local sums, order, new, cents, requests = {}, {}, 0, 0, 0
for i = 5, #ARGV, 2 do
  local id, exposure = ARGV[i], ARGV[i + 1]
  if call('HSETNX', base .. 'exp', id, exposure) == 1 then
    new = new + 1
    local _, amount, expiresAt, keys = splitExposure(exposure)
    for _, key in ipairs(cjson.decode(keys)) do
      local sum = sums[key]
      if not sum then
        sum = { amount = 0, count = 0, earliest = math.huge, members = {} }
        sums[key] = sum
        order[#order + 1] = key
      end
      cents, requests = cents + tonumber(amount), requests + 1
      sum.amount, sum.count = sum.amount + tonumber(amount), sum.count + 1
      sum.earliest = math.min(sum.earliest, tonumber(expiresAt))
      sum.members[#sum.members + 1], sum.members[#sum.members + 2] = expiresAt, id
    end
  end
end
for from = 1, #order, atOnce do
  local upTo, texts = math.min(from + atOnce - 1, #order), {}
  for i, text in ipairs(call('HMGET', base .. 'sums', unpack(order, from, upTo))) do
    local key = order[from + i - 1]
    local sum, amount, count, earliest = sums[key], 0, 0, math.huge
    if text then amount, count, earliest = splitSum(text) end
    texts[2 * i - 1], texts[2 * i] = key, sumText(amount + sum.amount, count + sum.count, math.min(earliest, sum.earliest))
    callAll('ZADD', base .. 'z:' .. key, sum.members)
  end
  callAll('HSET', base .. 'sums', texts)
end
return { 'put', new, string.format('%.0f', cents), requests }
