-- What is promised under cap keys, over the generations of all partitions.

local function basesOf(generations, prefix)
  local bases = {}
  local flat = redis.call('HGETALL', generations)
  for i = 1, #flat, 2 do
    bases[#bases + 1] = prefix .. 'v:' .. flat[i] .. ':' .. flat[i + 1] .. ':'
  end
  return bases
end

-- Sums of `keys` at `at`, one pair for each. Only what expired and was not released yet is looked at one by one.
local function usageOf(bases, keys, at)
  local sums = {}
  for i = 1, #keys do sums[i] = { 0, 0 } end
  for _, b in ipairs(bases) do
    local amounts = redis.call('HMGET', b .. 'amounts', unpack(keys))
    for i, key in ipairs(keys) do
      if amounts[i] then
        local sum = sums[i]
        local z = b .. 'z:' .. key
        local expired = redis.call('ZRANGEBYSCORE', z, '-inf', at)
        sum[1] = sum[1] + tonumber(amounts[i])
        sum[2] = sum[2] + redis.call('ZCARD', z) - #expired
        for _, id in ipairs(expired) do
          sum[1] = sum[1] - tonumber(string.match(redis.call('HGET', b .. 'exp', id), '^%a|(%d+)|'))
        end
      end
    end
  end
  return sums
end
