-- What the views lost lately, and whether they may lose more. KEYS lost. Returns the policy by which keys are taken away or '', then
-- partition, time in ms and what it lacked for each partition that ever lacked something.
local found = { (evictionOf()) }
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
  local time, what = string.match(flat[i + 1], '^(%d+)|(.*)$')
  found[#found + 1], found[#found + 2], found[#found + 3] = flat[i], time, what
end
return found
