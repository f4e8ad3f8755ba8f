-- What both the fold and a restore write: rows, reservations and statistics of one partition, under the keys of one
-- generation. Whoever uses this sets `base`, and `keep` where an older value has to be kept for a copy being taken.
--
--   rows     hash  request -> "phase|open|time\tJSON of the state", or "phase|open|time\t@PAGE:INDEX" for a closed one whose
--                  state stands on a page, INDEX from 0
--   pages    hash  page -> squeezed states, as view-pages.ts writes them; page "last": the number given last
--   open     set   requests with a next step or a timer
--   c:PHASE  zset  by text: "time:request", the cursors of the rows in a phase
--   phases   hash  phase -> how many cursors it has
--   bids     hash  bid -> request, or several, by id, apart by a blank
--   exp      hash  request -> "status|amount|expiry|JSON of the cap keys"; h held, c committed, l released, r refused
--   sums     hash  cap key -> "cents|requests|first expiry" of what is promised, expired ones too; z:KEY zset: those
--                  requests by expiry
--   h:KEY    histogram as little-endian doubles: landmark, its count, count, half-life in ms, half-life in results, then
--            499 cells, or 998 once one of the second half was needed; stats: set of their keys
local call = redis.call
local base
local keep = function() end
-- What a script finds missing on its way, where that can only have been lost.
local lacking

local function splitExposure(text)
  local status, amount, expiresAt, keys = string.match(text, '^(%a)|(%d+)|(%-?%d+)|(.*)$')
  return status, amount, expiresAt, keys
end
