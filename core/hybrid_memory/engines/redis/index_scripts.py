"""Scripts for one owner's records: each runs atomically on the server and touches one slot.

The key of every script is the root of the keys below. Each change of a record has a number, greater than all before.

- ``state``: a hash with the applied position, its anchor, and the call that moved it; the last number; and the epoch,
  another one when what a reader has is void.
- ``rows``: a hash, id to a list in JSON: the number when it was written, its place among the turns, and what a search
  needs, see `hybrid_memory.engines.columns.ROW`. ``records``: a hash, id to the record in JSON.
- ``uses``: a hash, id to how often it was used since it was written, and when it was last used.
- ``vectors``: a hash, id to the number when it was stored, the content hash, and the vector.
- ``changed``: a sorted set of ids by the number of their last change. ``gone``: of those that were removed or replaced.
- ``pending``: a sorted set of records without a vector, by id.
- ``turns``: a sorted set of turns by session, segment, ordinal and id, all in one text.
"""

from __future__ import annotations

from hybrid_memory.engines.columns import MOST_GONE
from hybrid_memory.engines.redis.connection import Script

_WRITES = r"""
local state = root .. ':state'

-- By the clock, as a count would give numbers again after a failover to a server that has not heard of the last ones.
local clock = redis.call('TIME')
local number = math.max(tonumber(redis.call('HGET', state, 'number') or '0'), clock[1] * 1000000 + clock[2])

local function count_on()
  number = number + 1
  redis.call('HSET', state, 'number', text(number))
  return text(number)
end

local function renew() redis.call('HSET', state, 'epoch', count_on()) end

-- The number of a change of this record.
local function change(id)
  local now = count_on()
  redis.call('ZADD', root .. ':changed', now, id)
  return now
end

-- Remove these records; adds the ids of those that there were, and their content hashes, or '', to a list.
local function remove(ids, removed)
  for _, id in ipairs(ids) do
    local row = redis.call('HGET', root .. ':rows', id)
    if row then
      local vector = redis.call('HGET', root .. ':vectors', id)
      removed[#removed + 1] = id
      removed[#removed + 1] = vector and vector:match('^%d+ (%x*) ') or ''
      for _, part in ipairs({':rows', ':records', ':uses', ':vectors'}) do
        redis.call('HDEL', root .. part, id)
      end
      redis.call('ZREM', root .. ':changed', id)
      redis.call('ZREM', root .. ':pending', id)
      redis.call('ZREM', root .. ':turns', row:match('^%[%d+,"([^"]*)"'))
      redis.call('ZADD', root .. ':gone', count_on(), id)
    end
  end
  if redis.call('ZCARD', root .. ':gone') > MOST_GONE then
    redis.call('DEL', root .. ':gone')
    renew()
  end
  return removed
end
""".replace("MOST_GONE", str(MOST_GONE))

UPSERT = Script(
    _WRITES,
    r"""
-- A name of this call, after, upto, its anchor, the anchor that is to be there behind a "=" or nothing, the ids of what
-- goes or is replaced in one text, how many records follow: of each id, place, row and record, then of each use: id,
-- count, time.
if redis.call('HGET', state, 'call') == ARGV[1] then return {'done'} end
if (redis.call('HGET', state, 'applied') or '0') ~= ARGV[2] then return {} end
if ARGV[5] ~= '' and '=' .. (redis.call('HGET', state, 'anchor') or '') ~= ARGV[5] then return {} end
redis.call('HSET', state, 'applied', ARGV[3], 'anchor', ARGV[4], 'call', ARGV[1])
if redis.call('HEXISTS', state, 'epoch') == 0 then renew() end
local gone = {}
for id in ARGV[6]:gmatch('%S+') do gone[#gone + 1] = id end
local removed = remove(gone, {'done'})
local uses = 8 + 4 * tonumber(ARGV[7])
for i = 8, uses - 1, 4 do
  local id, place = ARGV[i], ARGV[i + 1]
  redis.call('HSET', root .. ':rows', id, '[' .. change(id) .. ',"' .. place .. '",' .. ARGV[i + 2])
  redis.call('HSET', root .. ':records', id, ARGV[i + 3])
  redis.call('ZADD', root .. ':pending', id, id)
  if place ~= '' then redis.call('ZADD', root .. ':turns', 0, place) end
end
for i = uses, #ARGV, 3 do
  local id, at = ARGV[i], ARGV[i + 2]
  if redis.call('HEXISTS', root .. ':rows', id) == 1 then
    local before = redis.call('HGET', root .. ':uses', id)
    local count, last = (before or '0 ' .. at):match('^(%S+) (%S+)$')
    if tonumber(last) > tonumber(at) then at = last end
    redis.call('HSET', root .. ':uses', id, text(count + ARGV[i + 1]) .. ' ' .. at)
    change(id)
  end
end
return removed
""",
)

DELETE = Script(_WRITES, "return remove(ARGV, {})")

RESET = Script(
    _WRITES,
    r"""
local ids = redis.call('HKEYS', root .. ':rows')
for _, part in ipairs({'rows', 'records', 'uses', 'vectors', 'changed', 'gone', 'pending', 'turns'}) do
  redis.call('UNLINK', root .. ':' .. part)
end
redis.call('HDEL', state, 'applied', 'anchor')
renew()
return ids
""",
)

GIVE_VECTORS = Script(
    _WRITES,
    r"""
-- Of each record: id, content hash, vector. The ids of those that had none.
local given = {}
for i = 1, #ARGV, 3 do
  if redis.call('ZREM', root .. ':pending', ARGV[i]) == 1 then
    redis.call('HSET', root .. ':vectors', ARGV[i], change(ARGV[i]) .. ' ' .. ARGV[i + 1] .. ' ' .. ARGV[i + 2])
    given[#given + 1] = ARGV[i]
  end
end
return given
""",
)

CHANGES = Script(
    r"""
-- The epoch and the number that a reader has, the number that it has read up to since, and how many records at most.
-- Epoch, number read up to, ids of what is gone, and of each record: row, uses, vector if it is new.
local number, epoch = unpack(redis.call('HMGET', root .. ':state', 'number', 'epoch'))
if not epoch then return {} end
local since, read = tonumber(ARGV[2]), ARGV[3]
if epoch ~= ARGV[1] then since, read = -1, '-1' end
local found = redis.call('ZRANGEBYSCORE', root .. ':changed', '(' .. read, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[4])
local ids = {}
for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
if #ids == tonumber(ARGV[4]) then number = found[#found] end
local gone = since < 0 and {} or redis.call('ZRANGEBYSCORE', root .. ':gone', '(' .. read, '+inf')
if #ids == 0 then return {epoch, number, gone, {}, {}, {}} end
local parts = {}
for i, part in ipairs({':rows', ':uses', ':vectors'}) do
  parts[i] = redis.call('HMGET', root .. part, unpack(ids))
end
for i, vector in ipairs(parts[3]) do
  if vector and tonumber(vector:match('^%d+')) <= since then parts[3][i] = false end
end
return {epoch, number, gone, unpack(parts)}
""",
    reads=True,
)

LEASE = Script(
    r"""
-- Who asks, and for how many milliseconds.
local lease = root .. ':lease'
local holder = redis.call('GET', lease)
if holder and holder ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then redis.call('DEL', lease) else redis.call('SET', lease, ARGV[1], 'PX', ARGV[2]) end
return 1
"""
)
