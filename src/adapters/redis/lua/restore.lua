-- Puts a copy of one partition's views in the place of views that are gone. It is written beside, under the keys of a
-- generation of its own, and shown at once when complete: a restore that dies half way leaves nothing but garbage.
-- KEYS applied, generations, restoring. ARGV prefix, partition, name of the restore (its generation), step, arguments.

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

local function idOf(json)
  if not string.find(json, '\\', 1, true) then return string.sub(json, 2, -2) end
  return cjson.decode('[' .. json .. ']')[1]
end

-- Few calls with many arguments, for a restore is as long as the sum of its calls; no more than fit on Lua's stack.
local lists = {}
local function add(command, key, ...)
  local list = lists[command .. key]
  if not list then
    list = { command = command, key = key }
    lists[command .. key] = list
  end
  for _, member in ipairs({ ... }) do list[#list + 1] = member end
end

local puts = {}

function puts.R(id, row)
  local phase, isOpen, time = string.match(row, '^([^|]+)|(%d)|(%d+)\t')
  add('HSET', base .. 'rows', id, row)
  add('ZADD', base .. 'c:' .. phase, 0, time .. ':' .. id)
  if isOpen == '1' then add('SADD', base .. 'open', id) end
end

-- A scan may have shown an entry twice; what is there already is the same.
function puts.E(id, exposure)
  if call('HSETNX', base .. 'exp', id, exposure) == 0 then return end
  local status, amount, expiresAt, keys = splitExposure(exposure)
  if status ~= 'h' and status ~= 'c' then return end
  for _, key in ipairs(cjson.decode(keys)) do
    call('HINCRBY', base .. 'amounts', key, amount)
    add('ZADD', base .. 'z:' .. key, expiresAt, id)
  end
end

function puts.B(bid, id)
  add('HSET', base .. 'bids', bid, idOf(id))
end

function puts.H(key, text)
  local numbers = {}
  for number in string.gmatch(string.match(text, '^%S+'), '[^|]+') do numbers[#numbers + 1] = tonumber(number) end
  local length = 5 + table.remove(numbers)
  for i = 6, length do numbers[i] = 0 end
  for cell, weight in string.gmatch(text, ' (%d+)=(%S+)') do numbers[cell + 6] = tonumber(weight) end
  call('SET', base .. 'h:' .. key, struct.pack('<' .. string.rep('d', length), unpack(numbers)))
  add('SADD', base .. 'stats', key)
end

local piece = ARGV[5]
local count, from = 0, 1
while from <= #piece do
  local stop = string.find(piece, '\n', from, true) or #piece + 1
  local valueAt = string.find(piece, '\t', from + 2, true)
  puts[string.sub(piece, from, from)](idOf(string.sub(piece, from + 2, valueAt - 1)), string.sub(piece, valueAt + 1, stop - 1))
  count = count + 1
  from = stop + 1
end
for _, list in pairs(lists) do
  for i = 1, #list, 2000 do call(list.command, list.key, unpack(list, i, math.min(i + 1999, #list))) end
end
return count
