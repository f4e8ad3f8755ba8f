-- Tells whether the views are whole, and the name of the last loss seen; begins to find out anew where one is seen first.
-- KEYS applied, generations. ARGV prefix, a name for a loss not seen before, the loss that the rest was asked after, then each partition's end of
-- the log as it was after that loss was seen.

local prefix = ARGV[1]
local key = prefix .. 'whole'
local run = runOfServer()
local applied, generations = hashOf(KEYS[1]), hashOf(KEYS[2])

-- Some of what only a fold would meet: in time each of them is looked at.
local someAtOnce = 16
local function someLack(b, names)
  for _, name in ipairs(names.stats) do
    if redis.call('EXISTS', b .. 'h:' .. name) == 0 then return 'h:' .. name end
  end
  for i = 1, #names.sums, 2 do
    local name, text = names.sums[i], names.sums[i + 1]
    if redis.call('ZCARD', b .. 'z:' .. name) ~= tonumber(string.match(text, '^%d+|(%d+)|')) then return 'z:' .. name end
  end
end

-- All of it, after a loss.
local function anyLack(b, held)
  local cents, requests = totalsOf(b)
  if cents ~= held.cents or requests ~= held.requests then return 'sums (other totals)' end
  return someLack(b, { stats = redis.call('SMEMBERS', b .. 'stats'), sums = redis.call('HGETALL', b .. 'sums') })
end

local held = {}
for partition, position in pairs(applied) do
  if not string.find(partition, ':', 1, true) then
    local generation = generations[partition] or false
    local line = applied[partition .. ':holds']
    local lack = lackOf(prefix, partition, position, generation, line, allKeys)
    local own = isCurrent(line, position) and heldIn(line)
    if generation and not lack and not own then
      own = countedOf(prefix, partition, position, generation)
      redis.call('HSET', KEYS[1], partition .. ':holds', heldText(own))
    end
    if generation and not lack then
      local b = baseOf(prefix, partition, generation)
      lack = someLack(b, {
        stats = redis.call('SRANDMEMBER', b .. 'stats', someAtOnce),
        sums = redis.call('HRANDFIELD', b .. 'sums', someAtOnce, 'WITHVALUES'),
      })
    end
    held[partition] = own
    if lack then
      giveUp(prefix, KEYS[1], KEYS[2], partition, lack)
      applied[partition] = nil
    end
  end
end

local policy, evicted = evictionOf()
local known = redis.call('HMGET', key, 'run', 'evicted')
-- While the server may take any key away at will, and after it took one although it says that it does not.
local isEvictable = policy ~= '' or (evicted ~= '' and known[2] and known[2] ~= evicted)
if known[1] ~= run or isEvictable then
  redis.call('DEL', key)
  redis.call('HSET', key, 'run', run, 'loss', ARGV[2])
end
if policy ~= '' then return { '0', '', policy } end
if evicted ~= '' then redis.call('HSET', key, 'evicted', evicted) end
local loss = redis.call('HGET', key, 'loss')
if loss == ARGV[3] then
  redis.call('HSET', key, 'partitions', #ARGV - 3)
  for i = 4, #ARGV do
    local partition = i - 4
    if redis.call('HEXISTS', key, 'p:' .. partition) == 0 then
      local name = tostring(partition)
      local position, generation = applied[name], generations[name]
      if tonumber(position or 0) >= tonumber(ARGV[i]) then
        local lack = position and generation and anyLack(baseOf(prefix, name, generation), held[name])
        if lack then
          giveUp(prefix, KEYS[1], KEYS[2], name, lack)
          return { '0', '', '' }
        end
        redis.call('HSET', key, 'p:' .. partition, '1')
        -- Nothing to fold yet, and nothing missing.
        if not position then redis.call('HSET', KEYS[1], partition, '0') end
      end
    end
  end
end
return { areWhole(prefix, KEYS[1], KEYS[2]) and '1' or '0', loss, '' }
