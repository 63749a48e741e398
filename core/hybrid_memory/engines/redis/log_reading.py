"""What is read of one owner's events inside the server; `log_scripts` tells how they are laid out."""

from __future__ import annotations

from hybrid_memory.engines.redis.connection import Script
from hybrid_memory.engines.redis.log_scripts import COMMON

READ = Script(
    COMMON,
    r"""
-- Lowest and highest position, limit, since, until, newest, a session or nothing; then kinds, or none for all.
local low, high, limit, since, till, newest = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6] == '1'
local sets, found = {}, {}
for _, kind in ipairs(#ARGV > 7 and {unpack(ARGV, 8)} or redis.call('SMEMBERS', root .. ':kinds')) do
  sets[#sets + 1] = root .. ':kind:' .. kind .. (ARGV[7] == '' and '' or ':' .. ARGV[7])
end

local function take(positions)
  for _, position in ipairs(positions) do found[#found + 1] = tonumber(position) end
end
local function sorted()
  table.sort(found, newest and function(a, b) return a > b end or nil)
end

if since == '-inf' and till == '+inf' then
  for _, set in ipairs(sets) do
    take(newest and redis.call('ZREVRANGEBYSCORE', set, high, low, 'LIMIT', 0, limit)
      or redis.call('ZRANGEBYSCORE', set, low, high, 'LIMIT', 0, limit))
  end
  sorted()
else
  local listed, kept = 0, {}
  for _, set in ipairs(sets) do listed = listed + redis.call('ZCOUNT', set, low, high) end
  -- From the shorter side: by time, or by kind and session.
  if redis.call('ZCOUNT', root .. ':at', since, till) < listed then
    local lowest, highest = tonumber(low:sub(2)), high == '+inf' and math.huge or tonumber(high)
    for _, position in ipairs(redis.call('ZRANGEBYSCORE', root .. ':at', since, till)) do
      local inside = tonumber(position) > lowest and tonumber(position) <= highest
      local wanted = #ARGV == 7 and ARGV[7] == ''
      for _, set in ipairs(sets) do
        if not inside or wanted then break end
        wanted = redis.call('ZSCORE', set, position) ~= false
      end
      if inside and wanted then found[#found + 1] = tonumber(position) end
    end
    sorted()
  else
    for _, set in ipairs(sets) do take(redis.call('ZRANGEBYSCORE', set, low, high)) end
    sorted()
    local first = since == '-inf' and -math.huge or tonumber(since)
    local stop = till == '+inf' and math.huge or tonumber(till:sub(2))
    for _, position in ipairs(found) do
      if #kept >= limit then break end
      local at = tonumber(redis.call('ZSCORE', root .. ':at', text(position)))
      if at >= first and at < stop then kept[#kept + 1] = position end
    end
    found = kept
  end
end

local answer = {redis.call('GET', root .. ':erasures') or '0'}
for first = 1, math.min(#found, limit), 1000 do
  local names = {}
  for i = first, math.min(#found, limit, first + 999) do names[#names + 1] = text(found[i]) end
  for i, event in ipairs(redis.call('HMGET', root .. ':events', unpack(names))) do
    answer[#answer + 1] = names[i]
    answer[#answer + 1] = event
  end
end
return answer
""",
)

GET = Script(
    COMMON,
    r"""
-- A session or nothing, then ids.
local answer = {}
local function take(session, id)
  local position = known(session, id)
  local event = position and redis.call('HGET', root .. ':events', position)
  if event then
    answer[#answer + 1] = position
    answer[#answer + 1] = event
  end
end
for i = 2, #ARGV do
  local id, name = ARGV[i], name_of(ARGV[i])
  if ARGV[1] ~= '' then
    take(ARGV[1], id)
  else
    for _, member in ipairs(redis.call('ZRANGEBYLEX', root .. ':names', '[' .. name, '[' .. name .. '\255')) do
      take(member:sub(#name + 1), id)
    end
  end
end
return answer
""",
)

COUNT = Script(
    COMMON,
    r"""
-- Beyond which position.
local count = 0
for _, kind in ipairs(redis.call('SMEMBERS', root .. ':kinds')) do
  count = count + redis.call('ZCOUNT', root .. ':kind:' .. kind, ARGV[1], '+inf')
end
return count
""",
)
