"""Scripts for one owner's events: each runs atomically on the server and touches one slot.

The first key of every script is the root of these keys:

- ``events``: a hash, position to event: a line with kind, session and time, a line of JSON, and the payload.
- ``kind:<kind>`` and ``kind:<kind>:<session>``: sorted sets of positions, so that a range from either end can be read
  without touching events of other kinds or sessions. A stream has no such ranges, and its entries cannot be rewritten.
- ``ids``: a hash, ``<session>:<id>`` to position, kind and digest of the payload. ``names``: a sorted set of id digests
  with sessions, to find the sessions in which an id occurs.
- ``kinds``: a set. ``sessions``: a hash, how many ids each session has.
- ``dropped``: a hash of archived events, position to kind, session and id.
- ``head``: the last position ever assigned; ``last``: the last existing one; ``erasures``: the number of erasures.
"""

from __future__ import annotations

from hybrid_memory.engines.redis.connection import Script

COMMON = r"""
local function parts(event)
  return event:match('^(%S+) (%S+) (%S+)\n([^\n]*)\n(.*)$')
end

local function name_of(id) return redis.sha1hex(id):sub(1, 24) end

local function counted(kind, session, step)
  if session == '-' and kind ~= 'message' then return end
  if redis.call('HINCRBY', root .. ':sessions', session, step) <= 0 then
    redis.call('HDEL', root .. ':sessions', session)
  end
end

local function unlisted(position, kind, session)
  redis.call('ZREM', root .. ':kind:' .. kind, position)
  redis.call('ZREM', root .. ':kind:' .. kind .. ':' .. session, position)
  redis.call('HDEL', root .. ':events', position)
end

-- Kind, session and id of an event, whether it is there or in an archive; and the event if it is there.
local function identity(position)
  local event = redis.call('HGET', root .. ':events', position)
  if event then
    local kind, session, _, meta = parts(event)
    return kind, session, cjson.decode(meta)[1], event
  end
  local dropped = redis.call('HGET', root .. ':dropped', position)
  if dropped then return dropped:match('^(%S+) ([^:]+):(.*)$') end
end

local function add(position, session, id, kind, at, digest, meta, payload)
  local line = kind .. ' ' .. session .. ' ' .. at .. '\n' .. meta .. '\n'
  redis.call('HSET', root .. ':events', position, line .. payload)
  redis.call('HSET', root .. ':ids', session .. ':' .. id, position .. ' ' .. kind .. ' ' .. digest)
  redis.call('ZADD', root .. ':names', 0, name_of(id) .. session)
  redis.call('SADD', root .. ':kinds', kind)
  redis.call('ZADD', root .. ':kind:' .. kind, position, position)
  redis.call('ZADD', root .. ':kind:' .. kind .. ':' .. session, position, position)
  counted(kind, session, 1)
end

local function destroy(position, kind, session, id)
  if not kind then return end
  unlisted(position, kind, session)
  redis.call('HDEL', root .. ':dropped', position)
  redis.call('HDEL', root .. ':ids', session .. ':' .. id)
  redis.call('ZREM', root .. ':names', name_of(id) .. session)
  counted(kind, session, -1)
end

local function find_last()
  local last = 0
  for _, kind in ipairs(redis.call('SMEMBERS', root .. ':kinds')) do
    local found = redis.call('ZREVRANGE', root .. ':kind:' .. kind, 0, 0)
    if found[1] and tonumber(found[1]) > last then last = tonumber(found[1]) end
  end
  if last > 0 then redis.call('SET', root .. ':last', text(last)) else redis.call('DEL', root .. ':last') end
end

local function known(session, id)
  local entry = redis.call('HGET', root .. ':ids', session .. ':' .. id)
  if entry then return entry:match('^(%S+) (%S+) (%S+)$') end
end
"""

WRITE = Script(
    COMMON,
    r"""
-- base, what was seen or -1, 'erase' or 'append', the positions that go in one text, how many are rewritten, of each of
-- these: position, digest, payload; then of each draft: fixed, session, id, kind, at, digest, meta, payload.
local base, seen, erases, rewritten, width = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == 'erase', ARGV[5], 8
local drafts = 6 + 3 * rewritten
local size = (#ARGV - drafts + 1) / width
local goes = {}
for position in ARGV[4]:gmatch('%S+') do
  local kind, session, id = identity(position)
  if kind then goes[session .. ':' .. id] = {position, kind, session, id} end
end

local answer, new, given, taken, repeated = {'done'}, {}, {}, nil, false
for i = 1, size do
  local first = drafts + (i - 1) * width
  local fixed, session, id, kind, _, digest = unpack(ARGV, first, first + width - 1)
  local name = session .. ':' .. id
  local position, old_kind, old_digest = known(session, id)
  local before, fresh = given[name], 1
  if before then
    position, old_kind, old_digest, fresh = before[1], before[2], before[3], 0
  elseif position and tonumber(position) > base and tonumber(position) <= base + size then
    -- Nobody else writes at positions of this call: its answer was lost, and it is made again.
    repeated = true
  elseif position and not goes[name] then
    fresh = 0
  else
    position = text(base + #new + 1)
    new[#new + 1] = {first + 1, position}
  end
  if fresh == 0 and (fixed ~= '1' or old_kind ~= kind or old_digest ~= digest) then taken = taken or {i, position} end
  given[name] = {position, kind, digest}
  answer[#answer + 1] = position
  answer[#answer + 1] = fresh
end
if repeated then return answer end

local last = redis.call('GET', root .. ':last') or '0'
if erases and seen >= 0 and tonumber(last) > seen then return {'outdated', last} end
if taken then return {'taken', unpack(taken)} end
if #new == 0 and not erases then return answer end
local erased = redis.call('ZREVRANGE', root .. ':kind:erased', 0, 0)[1]
if seen >= 0 and erased and tonumber(erased) > seen then return {'outdated', erased} end
local head = redis.call('GET', root .. ':head') or '0'
if #new > 0 and base < tonumber(head) then return {'behind', head} end

for i = 6, drafts - 1, 3 do
  local position, digest, payload = unpack(ARGV, i, i + 2)
  local kind, session, id, event = identity(position)
  if kind then redis.call('HSET', root .. ':ids', session .. ':' .. id, position .. ' ' .. kind .. ' ' .. digest) end
  if event then
    local _, _, at, meta = parts(event)
    local line = kind .. ' ' .. session .. ' ' .. at .. '\n' .. meta .. '\n'
    redis.call('HSET', root .. ':events', position, line .. payload)
  end
end
for _, gone in pairs(goes) do destroy(unpack(gone)) end
if erases then redis.call('INCR', root .. ':erasures') end
for _, draft in ipairs(new) do
  add(draft[2], unpack(ARGV, draft[1], draft[1] + width - 2))
end
if #new > 0 then
  redis.call('SET', root .. ':head', new[#new][2])
  redis.call('SET', root .. ':last', new[#new][2])
else
  find_last()
end
return answer
""",
)

DROP = Script(
    COMMON,
    r"""
-- Positions.
for _, position in ipairs(ARGV) do
  local kind, session, id, event = identity(position)
  if event then
    unlisted(position, kind, session)
    redis.call('HSET', root .. ':dropped', position, kind .. ' ' .. session .. ':' .. id)
  end
end
redis.call('INCR', root .. ':erasures')
find_last()
""",
)

RESTORE = Script(
    COMMON,
    r"""
-- Of each event: position, session, id, kind, at, digest, meta, payload.
for first = 1, #ARGV, 8 do
  local position, session, id = ARGV[first], ARGV[first + 1], ARGV[first + 2]
  local taken = redis.call('HEXISTS', root .. ':events', position) + redis.call('HEXISTS', root .. ':dropped', position)
  if taken == 0 and not known(session, id) then
    add(unpack(ARGV, first, first + 7))
    for _, key in ipairs({root .. ':head', root .. ':last'}) do
      if tonumber(position) > tonumber(redis.call('GET', key) or '0') then redis.call('SET', key, position) end
    end
  end
end
""",
)

READ = Script(
    COMMON,
    r"""
-- Lowest and highest position, limit, newest, a session or nothing; then kinds, or none for all.
local low, high, limit, newest = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local found = {}
for _, kind in ipairs(#ARGV > 5 and {unpack(ARGV, 6)} or redis.call('SMEMBERS', root .. ':kinds')) do
  local set = root .. ':kind:' .. kind .. (ARGV[5] == '' and '' or ':' .. ARGV[5])
  local positions = newest and redis.call('ZREVRANGEBYSCORE', set, high, low, 'LIMIT', 0, limit)
    or redis.call('ZRANGEBYSCORE', set, low, high, 'LIMIT', 0, limit)
  for _, position in ipairs(positions) do found[#found + 1] = tonumber(position) end
end
table.sort(found, newest and function(a, b) return a > b end or nil)
local answer = {redis.call('GET', root .. ':erasures')}
for i = 1, math.min(#found, limit) do
  answer[2 * i] = text(found[i])
  answer[2 * i + 1] = redis.call('HGET', root .. ':events', answer[2 * i])
end
return answer
""",
    reads=True,
)

STATE = Script(
    COMMON,
    r"""
-- Kinds. Position of the last event, and that without its payload, then of the last one of each kind that there is.
local places, answer = {redis.call('GET', root .. ':last') or nil}, {}
if #places == 0 then return answer end
for _, kind in ipairs(ARGV) do
  local newest = redis.call('ZREVRANGE', root .. ':kind:' .. kind, 0, 0)
  if newest[1] then places[#places + 1] = newest[1] end
end
for _, place in ipairs(places) do
  local event = redis.call('HGET', root .. ':events', place)
  answer[#answer + 1] = place
  answer[#answer + 1] = event and event:match('^[^\n]*\n[^\n]*\n') .. '{}'
end
return answer
""",
    reads=True,
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
    reads=True,
)
