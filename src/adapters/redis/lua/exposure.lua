-- What is promised under cap keys, over the generations of all partitions.

local function basesOf(generations, prefix)
  local bases = {}
  local flat = redis.call('HGETALL', generations)
  for i = 1, #flat, 2 do
    bases[#bases + 1] = prefix .. 'v:' .. flat[i] .. ':' .. flat[i + 1] .. ':'
  end
  return bases
end

-- Cents, requests, and when the first of them expires: an entry of `sums`.
local function splitSum(text)
  local amount, count, earliest = string.match(text, '^(%d+)|(%d+)|(%-?%d+)$')
  return tonumber(amount), tonumber(count), tonumber(earliest)
end

local function sumText(amount, count, earliest)
  return string.format('%.0f|%.0f|%.0f', amount, count, earliest)
end

-- What of `key` expired and was not released yet: looked at one by one.
local function expiredOf(b, key, at)
  local expired = redis.call('ZRANGEBYSCORE', b .. 'z:' .. key, '-inf', at)
  local amount = 0
  for _, id in ipairs(expired) do
    local exposure = redis.call('HGET', b .. 'exp', id)
    if not exposure then error({ err = 'VIEWSLOST partition ' .. string.match(b, 'v:([^:]*):[^:]*:$') .. ': exp' }) end
    amount = amount + tonumber(string.match(exposure, '^%a|(%d+)|'))
  end
  return amount, #expired
end

-- Sums of `keys` at `at`, one pair for each.
local function usageOf(bases, keys, at)
  local sums, time = {}, tonumber(at)
  for i = 1, #keys do sums[i] = { 0, 0 } end
  for _, b in ipairs(bases) do
    for i, text in ipairs(redis.call('HMGET', b .. 'sums', unpack(keys))) do
      if text then
        local sum = sums[i]
        local amount, count, earliest = splitSum(text)
        local gone, goneCount = 0, 0
        if earliest <= time then gone, goneCount = expiredOf(b, keys[i], at) end
        sum[1], sum[2] = sum[1] + amount - gone, sum[2] + count - goneCount
      end
    end
  end
  return sums
end
