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

-- A scan may have shown an entry twice: what is there already is the same. Few calls with many arguments, for a restore
-- is as long as the sum of its calls.
base = prefix .. 'v:' .. partition .. ':' .. name .. ':'
local kind = ARGV[5]

local function group(groups, key, ...)
  local members = groups[key] or {}
  groups[key] = members
  for _, member in ipairs({ ... }) do members[#members + 1] = member end
end

if kind == 'R' then
  local phases, open = {}, {}
  for i = 6, #ARGV, 2 do
    local id, phase, isOpen, time = ARGV[i], string.match(ARGV[i + 1], '^([^|]+)|(%d)|(%d+)\n')
    group(phases, phase, 0, time .. ':' .. id)
    if isOpen == '1' then open[#open + 1] = id end
  end
  call('HSET', base .. 'rows', unpack(ARGV, 6))
  for phase, cursors in pairs(phases) do call('ZADD', base .. 'c:' .. phase, unpack(cursors)) end
  if #open > 0 then call('SADD', base .. 'open', unpack(open)) end
elseif kind == 'E' then
  local ids = {}
  for i = 6, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
  local known = call('HMGET', base .. 'exp', unpack(ids))
  local sums, promised = {}, {}
  for i = 1, #ids do
    local status, amount, expiresAt, keys = splitExposure(ARGV[4 + 2 * i + 1])
    if not known[i] and (status == 'h' or status == 'c') then
      for _, key in ipairs(cjson.decode(keys)) do
        sums[key] = (sums[key] or 0) + tonumber(amount)
        group(promised, key, expiresAt, ids[i])
      end
    end
  end
  call('HSET', base .. 'exp', unpack(ARGV, 6))
  for key, members in pairs(promised) do
    call('HINCRBY', base .. 'amounts', key, string.format('%.0f', sums[key]))
    call('ZADD', base .. 'z:' .. key, unpack(members))
  end
elseif kind == 'B' then
  call('HSET', base .. 'bids', unpack(ARGV, 6))
elseif kind == 'H' then
  for i = 6, #ARGV, 2 do
    call('SET', base .. 'h:' .. ARGV[i], ARGV[i + 1])
    call('SADD', base .. 'stats', ARGV[i])
  end
end
return 'put'
