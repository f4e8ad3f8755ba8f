-- States of flows of one partition as they are at this moment, behind the offset up to which they are folded.
-- KEYS applied, states, open flows of the partition. ARGV partition, ids; without ids: all open ones.
-- Returns { applied, row, row … }, absent ones left out.
local partition = table.remove(ARGV, 1)
local ids = #ARGV > 0 and ARGV or redis.call('SMEMBERS', KEYS[3])
local found = { redis.call('HGET', KEYS[1], partition) or '0' }
-- More than may stand on Lua's stack at once.
for from = 1, #ids, 1000 do
  for _, row in ipairs(redis.call('HMGET', KEYS[2], unpack(ids, from, math.min(from + 999, #ids)))) do
    if row then found[#found + 1] = row end
  end
end
return found
