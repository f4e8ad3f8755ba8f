-- Puts a copy of one partition's views in the place of views that are gone. It is written beside, under the keys of a
-- generation of its own, and shown at once when complete: a restore that dies half way leaves nothing but garbage.
-- KEYS applied, generations, restoring. ARGV prefix, partition, name of the restore (its generation), step, arguments.
-- What says nothing but one entry of one key is written beside this by plain commands: every string costs Lua something.

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

local puts = {}

-- Money that is promised. A scan may have shown an entry twice: it counts once.
puts[string.byte('E')] = function(id, exposure)
  if call('HSETNX', base .. 'exp', id, exposure) == 0 then return end
  local _, amount, expiresAt, keys = splitExposure(exposure)
  for _, key in ipairs(cjson.decode(keys)) do
    call('HINCRBY', base .. 'amounts', key, amount)
    call('ZADD', base .. 'z:' .. key, expiresAt, id)
  end
end

puts[string.byte('H')] = function(key, text)
  local numbers = {}
  for number in string.gmatch(match(text, '^%S+'), '[^|]+') do numbers[#numbers + 1] = tonumber(number) end
  local length = 5 + table.remove(numbers)
  for i = 6, length do numbers[i] = 0 end
  for cell, weight in string.gmatch(text, ' (%d+)=(%S+)') do numbers[cell + 6] = tonumber(weight) end
  call('SET', base .. 'h:' .. key, struct.pack('<' .. string.rep('d', length), unpack(numbers)))
  call('SADD', base .. 'stats', key)
end

for i = 5, #ARGV do
  local line = ARGV[i]
  local valueAt = find(line, '\t', 3, true)
  puts[string.byte(line)](idOf(sub(line, 3, valueAt - 1)), sub(line, valueAt + 1))
end
return 'put'
