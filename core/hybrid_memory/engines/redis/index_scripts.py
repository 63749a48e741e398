"""Scripts for one owner's records: each runs atomically on the server and touches one slot.

Each record is a hash, which the Query Engine indexes. The first key of every script is the root of the keys below, the
second one the prefix of record names:

- ``state``: a hash with the applied position, its anchor, and the call that moved it; the number of records, their
  total words, how many have a vector; and the sum of the vectors as doubles.
- ``places``: a sorted set of record ids by segment and ordinal, so that neighbours are adjacent.
- ``pending``: records without a vector, by id. ``times``: all by time. ``turns:<session>``: by id.
- ``words``: a sorted set of the owner's words, by ``characters * 2**32 + records that have it``, so that words of one
  length are adjacent when searching for spellings.
- ``word:<word>``: its postings, 16 bytes for each record: the id as a double, the number of occurrences, and the length
  of the text (its words plus one).

A script that takes hundreds of ids gets them as one text, which is quicker to send than as many values.
"""

from __future__ import annotations

from hybrid_memory.engines.redis.connection import Script

WORD_STEP = 2**32
PLACE_STEP = 2**20
"""The most turns in a segment, so that places differ: a million without a pause."""

COMMON = r"""
local root, record = KEYS[1], KEYS[2]
local WORD_STEP, PLACE_STEP, CHUNK, POSTING, FEW = 4294967296, 1048576, 128, 16, 16
local function text(number) return string.format('%.0f', number) end

-- Length of a word in characters: it is a letter and ASCII, or a letter and UTF-8 in hexadecimal.
local function characters(word)
  if word:sub(1, 1) == 't' then return #word - 1 end
  local count = 0
  for digit in word:sub(2):gmatch('(%x)%x') do
    if not digit:match('[89ab]') then count = count + 1 end
  end
  return count
end

-- How often a text has each word, and its length.
local function counts_of(words)
  local counts, length = {}, 1
  for word in words:gmatch('%S+') do
    length = length + 1
    counts[word] = (counts[word] or 0) + 1
  end
  return counts, length
end

local function post(id, words)
  local counts, length = counts_of(words)
  for word, count in pairs(counts) do
    redis.call('APPEND', root .. ':word:' .. word, struct.pack('<dI4I4', id, count, length))
  end
end

-- Take records, given as ids in a table, out of a word's postings: one by one where they are few.
local function cut(word, gone, many)
  local key = root .. ':word:' .. word
  local postings = redis.call('GET', key)
  if not postings then return end
  if many then
    local kept = {}
    for at = 1, #postings, POSTING do
      if not gone[struct.unpack('<d', postings, at)] then kept[#kept + 1] = postings:sub(at, at + POSTING - 1) end
    end
    postings = table.concat(kept)
  else
    for id in pairs(gone) do
      local packed, at = struct.pack('<d', id), 0
      repeat at = postings:find(packed, at + 1, true) until not at or at % POSTING == 1
      if at then postings = postings:sub(1, at - 1) .. postings:sub(at + POSTING) end
    end
  end
  if postings == '' then redis.call('DEL', key) else redis.call('SET', key, postings) end
end

-- Count the words of a record in, or out again.
local function counted(words, step)
  local counts, length = counts_of(words)
  local set = root .. ':words'
  for word in pairs(counts) do
    local score = redis.call('ZSCORE', set, word)
    if not score then
      redis.call('ZADD', set, text(characters(word) * WORD_STEP + 1), word)
    elseif step < 0 and tonumber(score) % WORD_STEP <= 1 then
      redis.call('ZREM', set, word)
    else
      redis.call('ZINCRBY', set, step, word)
    end
  end
  redis.call('HINCRBY', root .. ':state', 'records', step)
  redis.call('HINCRBY', root .. ':state', 'words', step * length)
  return counts
end

local function unpacked(blob, kind, width)
  local numbers, at = {}, 1
  local left = #blob / width
  while left > 0 do
    local some = math.min(left, CHUNK)
    local part = {struct.unpack('<' .. string.rep(kind, some), blob:sub(at, at + some * width - 1))}
    for i = 1, some do numbers[#numbers + 1] = part[i] end
    at, left = at + some * width, left - some
  end
  return numbers
end

local function packed(numbers)
  local parts = {}
  for first = 1, #numbers, CHUNK do
    local last = math.min(first + CHUNK - 1, #numbers)
    parts[#parts + 1] = struct.pack('<' .. string.rep('d', last - first + 1), unpack(numbers, first, last))
  end
  return table.concat(parts)
end

-- Add vectors to the sum of all, or take them away.
local function summed(vectors, step)
  if #vectors == 0 then return end
  local state = root .. ':state'
  if redis.call('HINCRBY', state, 'vectors', step * #vectors) <= 0 then
    redis.call('HDEL', state, 'vectors', 'sum')
    return
  end
  local there = redis.call('HGET', state, 'sum')
  local total = there and unpacked(there, 'd', 8)
  for _, vector in ipairs(vectors) do
    local numbers = unpacked(vector, 'f', 4)
    if total then
      for i = 1, #numbers do total[i] = total[i] + step * numbers[i] end
    else
      total = numbers
    end
  end
  redis.call('HSET', state, 'sum', packed(total))
end

-- Remove records; returns how many there were.
local function remove(ids)
  local vectors, gone, cuts, sizes = {}, 0, {}, {}
  for _, id in ipairs(ids) do
    local words, session, space = unpack(redis.call('HMGET', record .. id, 'words', 'session', 'space'))
    if words then
      gone = gone + 1
      for word in pairs(counted(words, -1)) do
        cuts[word] = cuts[word] or {}
        cuts[word][tonumber(id)] = true
        sizes[word] = (sizes[word] or 0) + 1
      end
      if space then vectors[#vectors + 1] = redis.call('HGET', record .. id, space) end
      for _, set in ipairs({':places', ':pending', ':times', ':turns:' .. session}) do
        redis.call('ZREM', root .. set, id)
      end
      redis.call('DEL', record .. id)
    end
  end
  for word, ids in pairs(cuts) do cut(word, ids, sizes[word] > FEW) end
  summed(vectors, -1)
  return gone
end
"""

UPSERT = Script(
    COMMON,
    r"""
-- A name of this call, after, upto, its anchor, the anchor that is to be there behind a "=" or nothing, the ids of what
-- goes in one text, how many records follow: each record as JSON, then of each use: id, count, time.
local state = root .. ':state'
if redis.call('HGET', state, 'call') == ARGV[1] then return 1 end
if (redis.call('HGET', state, 'applied') or '0') ~= ARGV[2] then return 0 end
if ARGV[5] ~= '' and '=' .. (redis.call('HGET', state, 'anchor') or '') ~= ARGV[5] then return 0 end
redis.call('HSET', state, 'applied', ARGV[3], 'anchor', ARGV[4], 'call', ARGV[1])
local gone = {}
for id in ARGV[6]:gmatch('%S+') do gone[#gone + 1] = id end
remove(gone)
local uses = 8 + tonumber(ARGV[7])
for i = 8, uses - 1 do
  local entry = cjson.decode(ARGV[i])
  remove({entry.id})
  redis.call('HSET', record .. entry.id, unpack(entry.fields))
  redis.call('ZADD', root .. ':places', entry.place, entry.id)
  redis.call('ZADD', root .. ':times', entry.at, entry.id)
  redis.call('ZADD', root .. ':pending', entry.id, entry.id)
  if entry.turn then redis.call('ZADD', root .. ':turns:' .. entry.session, entry.id, entry.id) end
  counted(entry.words, 1)
  post(entry.id, entry.words)
end
for i = uses, #ARGV, 3 do
  local key = record .. ARGV[i]
  if redis.call('EXISTS', key) == 1 then
    redis.call('HINCRBY', key, 'uses', ARGV[i + 1])
    local last = redis.call('HGET', key, 'last')
    if not last or last == '' or tonumber(last) < tonumber(ARGV[i + 2]) then
      redis.call('HSET', key, 'last', ARGV[i + 2])
    end
  end
end
return 1
""",
)

DELETE = Script(COMMON, "return remove(ARGV)")

RESET = Script(
    COMMON,
    r"""
local ids = redis.call('ZRANGE', root .. ':places', 0, -1)
for _, id in ipairs(ids) do
  local session = redis.call('HGET', record .. id, 'session')
  if session then redis.call('DEL', root .. ':turns:' .. session) end
  redis.call('DEL', record .. id)
end
for _, word in ipairs(redis.call('ZRANGE', root .. ':words', 0, -1)) do redis.call('DEL', root .. ':word:' .. word) end
for _, part in ipairs({':places', ':pending', ':times', ':words'}) do redis.call('DEL', root .. part) end
redis.call('HDEL', root .. ':state', 'applied', 'anchor', 'records', 'words', 'vectors', 'sum')
return ids
""",
)

GIVE_VECTORS = Script(
    COMMON,
    r"""
-- The field that takes the vectors, then of each record: id, content hash, vector.
local given = {}
for i = 2, #ARGV, 3 do
  local key = record .. ARGV[i]
  if redis.call('ZREM', root .. ':pending', ARGV[i]) == 1 then
    redis.call('HSET', key, 'key', ARGV[i + 1], 'space', ARGV[1], ARGV[1], ARGV[i + 2])
    given[#given + 1] = ARGV[i + 2]
  end
end
summed(given, 1)
""",
)

SPELT = Script(
    COMMON,
    r"""
-- Fewest and most characters.
local first, beyond = text(ARGV[1] * WORD_STEP), '(' .. text((ARGV[2] + 1) * WORD_STEP)
return table.concat(redis.call('ZRANGEBYSCORE', root .. ':words', first, beyond), ' ')
""",
    reads=True,
)

AROUND = Script(
    COMMON,
    r"""
-- How far, then ids. Those that stand so near, and they themselves.
local radius, seen, found = tonumber(ARGV[1]), {}, {}
for seed in ARGV[2]:gmatch('%S+') do
  local place = tonumber(redis.call('ZSCORE', root .. ':places', seed) or '-1')
  if place >= 0 then
    local segment = math.floor(place / PLACE_STEP) * PLACE_STEP
    local first = math.max(place - radius, segment)
    local last = math.min(place + radius, segment + PLACE_STEP - 1)
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', root .. ':places', text(first), text(last))) do
      if not seen[id] then
        seen[id] = true
        found[#found + 1] = id
      end
    end
  end
end
return table.concat(found, ' ')
""",
    reads=True,
)
