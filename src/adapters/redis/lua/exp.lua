-- e^x as V8 computes it (fdlibm's e_exp.c), operation by operation: a statistic folded here has the bits of one folded
-- by src/domain/histogram.ts, which the C library's exp does not promise.
local function exp(x)
  if x ~= x then return x end
  if x > 709.782712893383973096 then return 1 / 0 end
  if x < -745.133219101941108420 then return 0 end
  local size = math.abs(x)
  local k, hi, lo = 0, 0, 0
  -- The comparisons are those of the high words 0x3FD62E42, 0x3FF0A2B2 and 0x3E300000.
  if size >= 0.34657359123229980 then
    if size < 1.0397205352783203 then
      if x == 1 then return 2.718281828459045 end
      k = x < 0 and -1 or 1
    else
      k = 1.44269504088896338700 * x + (x < 0 and -0.5 or 0.5)
      k = k < 0 and math.ceil(k) or math.floor(k)
    end
    hi = x - k * 6.93147180369123816490e-01
    lo = k * 1.90821492927058770002e-10
    x = hi - lo
  elseif size < 2 ^ -28 then
    return 1 + x
  end
  local t = x * x
  local c = x - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 + t * (6.61375632143793436117e-05
    + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))))
  if k == 0 then return 1 - ((x * c) / (c - 2) - x) end
  local y = 1 - ((lo - (x * c) / (2 - c)) - hi)
  if k >= -1021 then
    if k == 1024 then return y * 2 * math.ldexp(1, 1023) end
    return y * math.ldexp(1, k)
  end
  return y * math.ldexp(1, k + 1000) * 9.33263618503218878990e-302
end
