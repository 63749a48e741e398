"""What is read of one owner's records inside the server; `index_scripts` tells how they are laid out."""

from __future__ import annotations

from hybrid_memory.engines.redis.connection import Script
from hybrid_memory.engines.redis.index_scripts import COMMON

PENDING = Script(
    COMMON,
    r"""
-- How many, then the fields to tell, of each record and of the turn before it.
local answer = {}
for _, id in ipairs(redis.call('ZRANGE', root .. ':pending', 0, tonumber(ARGV[1]) - 1)) do
  answer[#answer + 1] = redis.call('HMGET', record .. id, unpack(ARGV, 2))
  local place, before = tonumber(redis.call('ZSCORE', root .. ':places', id)), {}
  if place % PLACE_STEP > 0 then
    for _, other in ipairs(redis.call('ZRANGEBYSCORE', root .. ':places', text(place - 1), text(place - 1))) do
      if redis.call('HGET', record .. other, 'kind') == 'turn' then
        before = redis.call('HMGET', record .. other, unpack(ARGV, 2))
      end
    end
  end
  answer[#answer + 1] = before
end
return answer
""",
)

TAILS = Script(
    COMMON,
    r"""
-- How many sessions, which, and the fields to tell of the last turn of each.
local answer, size = {}, tonumber(ARGV[1])
for i = 2, 1 + size do
  local last = redis.call('ZREVRANGE', root .. ':turns:' .. ARGV[i], 0, 0)[1]
  answer[#answer + 1] = last and redis.call('HMGET', record .. last, unpack(ARGV, 2 + size)) or {}
end
return answer
""",
)

FETCH = Script(
    COMMON,
    r"""
-- How many fields, which, then ids.
local size, answer = tonumber(ARGV[1]), {}
local fields = {unpack(ARGV, 2, 1 + size)}
for i = 2 + size, #ARGV do answer[#answer + 1] = redis.call('HMGET', record .. ARGV[i], unpack(fields)) end
return answer
""",
)

WORDS = Script(
    COMMON,
    r"""
-- Ids. One text for all, because that is quick to read: the words of each in a line.
local lines = {}
for id in ARGV[1]:gmatch('%S+') do lines[#lines + 1] = redis.call('HGET', record .. id, 'words') or '' end
return table.concat(lines, '\n')
""",
)

SPELT = Script(
    COMMON,
    r"""
-- Fewest and most characters.
local first, beyond = text(ARGV[1] * WORD_STEP), '(' .. text((ARGV[2] + 1) * WORD_STEP)
return table.concat(redis.call('ZRANGEBYSCORE', root .. ':words', first, beyond), ' ')
""",
)

VECTORS = Script(
    COMMON,
    r"""
-- The field, then ids. The vectors in one piece, and a 1 for each id that has one.
local vectors, there = {}, {}
for id in ARGV[2]:gmatch('%S+') do
  local vector = redis.call('HGET', record .. id, ARGV[1])
  if vector then vectors[#vectors + 1] = vector end
  there[#there + 1] = vector and '1' or '0'
end
return {table.concat(vectors), table.concat(there)}
""",
)

AROUND = Script(
    COMMON,
    r"""
-- How far, then ids. One text for all, because that is quick to read: a line for each record.
local radius, seen, lines = tonumber(ARGV[1]), {}, {}
for seed in ARGV[2]:gmatch('%S+') do
  local place = tonumber(redis.call('ZSCORE', root .. ':places', seed) or '-1')
  if place >= 0 then
    local segment = math.floor(place / PLACE_STEP) * PLACE_STEP
    local first = math.max(place - radius, segment)
    local last = math.min(place + radius, segment + PLACE_STEP - 1)
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', root .. ':places', text(first), text(last))) do
      if not seen[id] then
        seen[id] = true
        local fields = redis.call('HMGET', record .. id,
          'row', 'at', 'uses', 'last', 'turn', 'kind', 'category', 'session', 'meta')
        fields[4] = fields[4] or '0'
        if fields[1] then lines[#lines + 1] = id .. ' ' .. table.concat(fields, ' ') end
      end
    end
  end
end
return table.concat(lines, '\n')
""",
)
