-- Replaces the operators' word where it is still the one that the writer read. KEYS control.
-- ARGV version read, new version, the word as JSON. Returns 1, or 0 where another change came first.
if (redis.call('HGET', KEYS[1], 'version') or ':0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'said', ARGV[3])
return 1
