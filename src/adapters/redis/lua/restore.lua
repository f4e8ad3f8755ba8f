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
local puts = {}

function puts.R(id, row)
  local stop = string.find(row, '\n', 1, true)
  putRow(id, string.sub(row, 1, stop - 1), string.sub(row, stop + 1))
end

-- A scan may show an entry twice.
function puts.E(id, exposure)
  if call('HSETNX', base .. 'exp', id, exposure) == 0 then return end
  local status, amount, expiresAt, keys = splitExposure(exposure)
  if status == 'h' or status == 'c' then promise(id, amount, expiresAt, keys) end
end

function puts.B(bid, id)
  call('HSET', base .. 'bids', bid, id)
end

function puts.H(key, histogram)
  call('SET', base .. 'h:' .. key, histogram)
  call('SADD', base .. 'stats', key)
end

for i = 5, #ARGV, 3 do puts[ARGV[i]](ARGV[i + 1], ARGV[i + 2]) end
return 'put'
