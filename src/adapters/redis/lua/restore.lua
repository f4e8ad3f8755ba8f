-- Puts a copy of one partition's views in the place of views that are gone. It is written beside, under the keys of a
-- generation of its own, and shown at once when complete: a restore that dies half way leaves nothing but garbage.
-- KEYS applied, generations, restoring. ARGV prefix, partition, name of the restore (its generation), step, arguments.
-- A piece comes as lua/copy.lua made it, but for the states of the rows: these are long, every byte of a string costs Lua
-- something, and so they are written to `rows` beside this, by plain commands.

local prefix, partition, name, step = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local heldMs = 15000
if call('HEXISTS', KEYS[1], partition) == 1 then return 'out-of-step' end
local restorer = call('GET', KEYS[3])

if step == 'begin' then
  if restorer and restorer ~= name then return 'busy' end
  call('SET', KEYS[3], name, 'PX', heldMs)
  call('SADD', prefix .. 'garbage', partition .. ':' .. name)
  return 'begun'
end
if restorer ~= name then return 'out-of-step' end
call('PEXPIRE', KEYS[3], heldMs)

if step == 'end' then
  local old = call('HGET', KEYS[2], partition)
  if old then call('SADD', prefix .. 'garbage', partition .. ':' .. old) end
  call('SREM', prefix .. 'garbage', partition .. ':' .. name)
  call('HSET', KEYS[2], partition, name)
  call('HSET', KEYS[1], partition, ARGV[5])
  call('DEL', KEYS[3])
  return 'ended'
end

base = prefix .. 'v:' .. partition .. ':' .. name .. ':'

local find, sub, match = string.find, string.sub, string.match
local function idOf(json)
  if not find(json, '\\', 1, true) then return sub(json, 2, -2) end
  return cjson.decode('[' .. json .. ']')[1]
end

-- Few calls with many arguments, for a restore is as long as the sum of its calls; no more than fit on Lua's stack.
local lists = {}
local function listOf(command, key)
  local list = { command = command, key = key }
  lists[#lists + 1] = list
  return list
end

local exposures, bids = listOf('HSET', base .. 'exp'), listOf('HSET', base .. 'bids')
local opens, stats = listOf('SADD', base .. 'open'), listOf('SADD', base .. 'stats')
local cursors = setmetatable({}, { __index = function(all, phase)
  all[phase] = listOf('ZADD', base .. 'c:' .. phase)
  return all[phase]
end })

local function addPair(list, one, other)
  local n = #list
  list[n + 1], list[n + 2] = one, other
end

local puts = {}

puts[string.byte('R')] = function(id, header)
  local phase, isOpen, time = match(header, '^([^|]+)|(%d)|(%d+)$')
  addPair(cursors[phase], 0, time .. ':' .. id)
  if isOpen == '1' then opens[#opens + 1] = id end
end

puts[string.byte('E')] = function(id, exposure)
  local status, amount, expiresAt, keys = splitExposure(exposure)
  if status ~= 'h' and status ~= 'c' then return addPair(exposures, id, exposure) end
  -- A scan may have shown an entry twice; what is promised counts once.
  if call('HSETNX', base .. 'exp', id, exposure) == 0 then return end
  for _, key in ipairs(cjson.decode(keys)) do
    call('HINCRBY', base .. 'amounts', key, amount)
    call('ZADD', base .. 'z:' .. key, expiresAt, id)
  end
end

puts[string.byte('B')] = function(bid, id)
  addPair(bids, bid, idOf(id))
end

puts[string.byte('H')] = function(key, text)
  local numbers = {}
  for number in string.gmatch(match(text, '^%S+'), '[^|]+') do numbers[#numbers + 1] = tonumber(number) end
  local length = 5 + table.remove(numbers)
  for i = 6, length do numbers[i] = 0 end
  for cell, weight in string.gmatch(text, ' (%d+)=(%S+)') do numbers[cell + 6] = tonumber(weight) end
  call('SET', base .. 'h:' .. key, struct.pack('<' .. string.rep('d', length), unpack(numbers)))
  stats[#stats + 1] = key
end

local piece = ARGV[5]
local count, from = 0, 1
while from <= #piece do
  local stop = find(piece, '\n', from, true) or #piece + 1
  local valueAt = find(piece, '\t', from + 2, true)
  puts[string.byte(piece, from)](idOf(sub(piece, from + 2, valueAt - 1)), sub(piece, valueAt + 1, stop - 1))
  count = count + 1
  from = stop + 1
end
for _, list in ipairs(lists) do
  for i = 1, #list, 2000 do call(list.command, list.key, unpack(list, i, math.min(i + 1999, #list))) end
end
return count
