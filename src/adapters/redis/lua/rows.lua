-- What both the fold and a restore write: rows, reservations and statistics of one partition, under the keys of one
-- generation. Whoever uses this sets `base`, and `keep` where an older value has to be kept for a copy being taken.
--
--   rows     hash  request -> "phase|open|time\tJSON of the state", or "phase|open|time\t@PAGE:INDEX" for a closed one whose
--                  state stands on a page, INDEX from 0
--   pages    hash  page -> squeezed states, as view-pages.ts writes them; page "last": the number given last
--   open     set   requests with a next step or a timer
--   c:PHASE  zset  by text: "time:request", the cursors of the rows in a phase
--   bids     hash  bid -> request
--   exp      hash  request -> "status|amount|expiry|JSON of the cap keys"; h held, c committed, l released, r refused
--   amounts  hash  cap key -> cents promised, expired ones too; z:KEY zset: those requests by expiry
--   h:KEY    histogram as little-endian doubles: landmark, its count, count, half-life in ms, half-life in results, then
--            499 cells, or 998 once one of the second half was needed; stats: set of their keys
local call = redis.call
local base
local keep = function() end

local function cursor(header, id)
  return string.match(header, '|(%d+)$') .. ':' .. id
end

local function putRow(id, header, json)
  local rows = base .. 'rows'
  local old = call('HGET', rows, id)
  keep('r' .. id, old)
  call('HSET', rows, id, header .. '\t' .. json)
  local before = old and string.sub(old, 1, string.find(old, '\t', 1, true) - 1)
  if before == header then return end
  if before then call('ZREM', base .. 'c:' .. string.match(before, '^[^|]+'), cursor(before, id)) end
  call('ZADD', base .. 'c:' .. string.match(header, '^[^|]+'), 0, cursor(header, id))
  if string.find(header, '|1|', 1, true) then
    call('SADD', base .. 'open', id)
  elseif before then
    call('SREM', base .. 'open', id)
  end
end

local function splitExposure(text)
  local status, amount, expiresAt, keys = string.match(text, '^(%a)|(%d+)|(%-?%d+)|(.*)$')
  return status, amount, expiresAt, keys
end

local function putExposure(id, old, status, amount, expiresAt, keys)
  keep('x' .. id, old)
  call('HSET', base .. 'exp', id, status .. '|' .. amount .. '|' .. expiresAt .. '|' .. keys)
end

local function promise(id, amount, expiresAt, keys)
  for _, key in ipairs(cjson.decode(keys)) do
    call('HINCRBY', base .. 'amounts', key, amount)
    call('ZADD', base .. 'z:' .. key, expiresAt, id)
  end
end

local function takeBack(id, amount, keys)
  for _, key in ipairs(cjson.decode(keys)) do
    call('ZREM', base .. 'z:' .. key, id)
    if call('EXISTS', base .. 'z:' .. key) == 1 then
      call('HINCRBY', base .. 'amounts', key, '-' .. amount)
    else
      call('HDEL', base .. 'amounts', key)
    end
  end
end
