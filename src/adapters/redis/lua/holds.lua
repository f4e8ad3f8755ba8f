-- What the keys of each partition have to hold, so that the loss of a single one is noticed. In the hash `applied` stands, beside
-- the offset of partition N, under "N:holds": that offset, the generation, how many entries the keys of `heldNames` have, the number
-- given to a page last, then the cents and the requests under all cap keys, with bars between. Whoever writes the
-- offset writes it in the same script. Where it names another offset, an earlier version of this program folded last: what
-- is there is counted then. Nothing has been put into views without a generation, so there is no such line.
-- Beside them "N:undo" says how many values the folds kept for a copy being taken, and for which one.
-- The hash `lost` says of a partition what it lacked last: "time in ms|what".
local heldNames = { 'sums', 'rows', 'open', 'exp', 'bids', 'stats' }
local sizeCommands = {
  sums = 'HLEN', rows = 'HLEN', open = 'SCARD', exp = 'HLEN', bids = 'HLEN', stats = 'SCARD', pages = 'HLEN',
}
-- What an answer about caps is made of.
local capKeys = { 'sums' }
-- With the cursors of the phases as well: what is listed, never what is decided by.
local allKeys = { unpack(heldNames) }

local function baseOf(prefix, partition, generation)
  return prefix .. 'v:' .. partition .. ':' .. generation .. ':'
end

-- Entries of a key, -1 where it is of another type.
local function sizeOf(b, name)
  local size = redis.pcall(sizeCommands[name] or 'ZCARD', b .. name)
  return type(size) == 'number' and size or -1
end

local function pageOf(b)
  return tonumber(redis.call('HGET', b .. 'pages', 'last') or 0)
end

local function heldIn(text)
  local at, generation, sums, rows, open, exp, bids, stats, page, cents, requests = string.match(
    text, '^(%d+)|([^|]*)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%-?%d+)|(%-?%d+)$')
  return {
    at = at, generation = generation, sums = tonumber(sums), rows = tonumber(rows), open = tonumber(open), exp = tonumber(exp),
    bids = tonumber(bids), stats = tonumber(stats), page = tonumber(page), cents = tonumber(cents), requests = tonumber(requests),
  }
end

local function heldText(held)
  return string.format('%s|%s|%d|%d|%d|%d|%d|%d|%d|%.0f|%.0f', held.at, held.generation, held.sums, held.rows, held.open,
    held.exp, held.bids, held.stats, held.page, held.cents, held.requests)
end

-- Whether somebody who knows of it wrote the line `text` last.
local function isCurrent(text, applied)
  return text and string.sub(text, 1, #applied + 1) == applied .. '|'
end

-- Names a phase whose cursors are not as many as the hash `phases` of the generation says; every row has one.
local function phaseLackOf(b)
  local counts, sum = redis.call('HGETALL', b .. 'phases'), 0
  for i = 1, #counts, 2 do
    local size = sizeOf(b, 'c:' .. counts[i])
    if size ~= tonumber(counts[i + 1]) then return string.format('c:%s (%d of %s)', counts[i], size, counts[i + 1]) end
    sum = sum + size
  end
  if sum ~= sizeOf(b, 'rows') then return 'phases' end
end

-- Names the first of the keys `wanted` that does not hold what it has to; nil where each does, or nobody knows.
-- `applied`, `generation` and the line `text`: false where there is none.
local function lackOf(prefix, partition, applied, generation, text, wanted)
  if not applied or not isCurrent(text, applied) then return nil end
  local head = applied .. '|' .. (generation or '') .. '|'
  if string.sub(text, 1, #head) ~= head then return 'generations' end
  local b = baseOf(prefix, partition, generation)
  if wanted == capKeys then
    head = head .. sizeOf(b, 'sums') .. '|'
    if string.sub(text, 1, #head) == head then return nil end
  end
  local held = heldIn(text)
  for _, name in ipairs(wanted) do
    local size = sizeOf(b, name)
    if size ~= held[name] then return string.format('%s (%d of %d)', name, size, held[name]) end
  end
  if wanted ~= capKeys and held.page > 0 and pageOf(b) < held.page then return 'pages' end
  if wanted == allKeys then return phaseLackOf(b) end
end

-- Cents and requests under all cap keys.
local function totalsOf(b)
  local cents, requests = 0, 0
  for _, text in ipairs(redis.call('HVALS', b .. 'sums')) do
    local amount, count = string.match(text, '^(%d+)|(%d+)|')
    cents, requests = cents + tonumber(amount), requests + tonumber(count)
  end
  return cents, requests
end

local function measure(held, b)
  for _, name in ipairs(heldNames) do held[name] = sizeOf(b, name) end
  held.page = pageOf(b)
end

-- What is there, where nobody wrote down what has to be; `phases` of the generation as well.
local function countedOf(prefix, partition, applied, generation)
  local held = { at = applied, generation = generation or '', cents = 0, requests = 0 }
  local b = baseOf(prefix, partition, held.generation)
  measure(held, b)
  if not generation then return held end
  for _, phase in ipairs(phases) do redis.call('HSET', b .. 'phases', phase, sizeOf(b, 'c:' .. phase)) end
  held.cents, held.requests = totalsOf(b)
  return held
end

-- The views of a partition are gone from here on, as if everything of it had been lost: whoever owns it folds it anew.
-- A row of what is left must not be folded onto, so that goes away as well.
local function giveUp(prefix, appliedKey, generationsKey, partition, lack)
  local time = redis.call('TIME')
  local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  redis.call('HDEL', appliedKey, partition, partition .. ':holds')
  local generation = redis.call('HGET', generationsKey, partition)
  if generation then redis.call('SADD', prefix .. 'garbage', partition .. ':' .. generation) end
  redis.call('HDEL', generationsKey, partition)
  redis.call('DEL', prefix .. 'whole')
  redis.call('HSET', prefix .. 'lost', partition, now .. '|' .. lack)
end

local function hashOf(key)
  local flat, hash = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do hash[flat[i]] = flat[i + 1] end
  return hash
end

-- For a question that nobody can answer truly: names the first partition that lacks something.
local function lackAnywhere(prefix, appliedKey, generationsKey, wanted)
  local generations, applied = hashOf(generationsKey), hashOf(appliedKey)
  for field, text in pairs(applied) do
    if string.sub(field, -6) == ':holds' then
      local partition = string.sub(field, 1, -7)
      local lack = lackOf(prefix, partition, applied[partition], generations[partition] or false, text, wanted)
      if lack then return partition, lack end
    end
  end
end
