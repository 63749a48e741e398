"""Scripts for one owner's events: each runs atomically on the server and touches one slot.

The first key of every script is the root of these keys:

- ``events``: a hash, position to event: a line with kind, session and time, a line of JSON, and the payload.
- ``kind:<kind>`` and ``kind:<kind>:<session>``: sorted sets of positions, so that a range from either end can be read
  without touching events of other kinds or sessions. A stream has no such ranges, and its entries cannot be rewritten.
- ``at``: a sorted set of positions by time.
- ``ids``: a hash, ``<session>:<id>`` to position, kind and digest of the payload. ``names``: a sorted set of id digests
  with sessions, to find the sessions in which an id occurs.
- ``kinds``: a set. ``sessions``: a hash, how many ids each session has.
- ``dropped``: a hash of archived events, position to kind, session and id.
- ``head``: the last position ever assigned; ``last``: the last existing one; ``erasures``: the number of erasures.
"""

from __future__ import annotations

from hybrid_memory.engines.redis.connection import Script

COMMON = r"""
local root = KEYS[1]
local function text(number) return string.format('%.0f', number) end

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
  redis.call('ZREM', root .. ':at', position)
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
  redis.call('ZADD', root .. ':at', at, position)
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

APPEND = Script(
    COMMON,
    r"""
-- base, what was seen or -1, then of each draft: fixed, session, id, kind, at, digest, meta, payload.
local base, beyond, width = tonumber(ARGV[1]), tonumber(ARGV[2]), 8
local size = (#ARGV - 2) / width
local head = tonumber(redis.call('GET', root .. ':head') or '0')
local answer, new, seen, repeated = {'done'}, {}, {}, false
for i = 1, size do
  local first = 3 + (i - 1) * width
  local fixed, session, id, kind, _, digest = unpack(ARGV, first, first + width - 1)
  local field = session .. ':' .. id
  local position, old_kind, old_digest = known(session, id)
  local before = seen[field]
  if before then
    position, old_kind, old_digest = before[1], before[2], before[3]
  elseif position and tonumber(position) > base and tonumber(position) <= base + size then
    -- Nobody else writes at positions of this call: its answer was lost, and it is made again.
    repeated, seen[field] = true, {position, kind, digest}
    answer[#answer + 1] = position
    answer[#answer + 1] = 1
    position = nil
    fixed = 'again'
  end
  if position then
    if fixed ~= '1' or old_kind ~= kind or old_digest ~= digest then return {'taken', i, position} end
    answer[#answer + 1] = position
    answer[#answer + 1] = 0
  elseif fixed ~= 'again' then
    local given = text(base + #new + 1)
    new[#new + 1] = {first, given}
    seen[field] = {given, kind, digest}
    answer[#answer + 1] = given
    answer[#answer + 1] = 1
  end
end
if #new == 0 or repeated then return answer end
local erased = redis.call('ZREVRANGE', root .. ':kind:erased', 0, 0)[1]
if beyond >= 0 and erased and tonumber(erased) > beyond then return {'outdated', erased} end
if base < head then return {'behind', text(head)} end
for _, draft in ipairs(new) do
  add(draft[2], unpack(ARGV, draft[1] + 1, draft[1] + width - 1))
end
redis.call('SET', root .. ':head', new[#new][2])
redis.call('SET', root .. ':last', new[#new][2])
return answer
""",
)

ERASE = Script(
    COMMON,
    r"""
-- base, what was seen or -1, the note as a draft, then how many positions are rewritten, each with digest and payload,
-- then those that go.
local base, beyond = tonumber(ARGV[1]), tonumber(ARGV[2])
local fixed, session, id, kind, at, digest, meta, payload = unpack(ARGV, 3, 10)
local rewritten = tonumber(ARGV[11])
local goes = {}
for i = 12 + 3 * rewritten, #ARGV do
  local old_kind, old_session, old_id = identity(ARGV[i])
  if old_kind then goes[old_session .. ':' .. old_id] = {ARGV[i], old_kind, old_session, old_id} end
end
local there, there_kind, there_digest = known(session, id)
if there and tonumber(there) == base + 1 then return {'done', there, 1} end
local last = redis.call('GET', root .. ':last') or '0'
if beyond >= 0 and tonumber(last) > beyond then return {'outdated', last} end
local stands = there and not goes[session .. ':' .. id]
if stands then
  if fixed ~= '1' or there_kind ~= kind or there_digest ~= digest then return {'taken', 1, there} end
elseif base < tonumber(redis.call('GET', root .. ':head') or '0') then
  return {'behind', redis.call('GET', root .. ':head')}
end
for i = 0, rewritten - 1 do
  local position, new_digest, words = unpack(ARGV, 12 + 3 * i, 14 + 3 * i)
  local old_kind, old_session, old_id, event = identity(position)
  if old_kind then
    redis.call('HSET', root .. ':ids', old_session .. ':' .. old_id, position .. ' ' .. old_kind .. ' ' .. new_digest)
    if event then
      local _, _, said, old_meta = parts(event)
      local line = old_kind .. ' ' .. old_session .. ' ' .. said .. '\n' .. old_meta .. '\n'
      redis.call('HSET', root .. ':events', position, line .. words)
    end
  end
end
for _, gone in pairs(goes) do destroy(unpack(gone)) end
redis.call('INCR', root .. ':erasures')
if stands then
  find_last()
  return {'done', there, 0}
end
add(text(base + 1), session, id, kind, at, digest, meta, payload)
redis.call('SET', root .. ':head', text(base + 1))
redis.call('SET', root .. ':last', text(base + 1))
return {'done', text(base + 1), 1}
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
    if tonumber(position) > tonumber(redis.call('GET', root .. ':head') or '0') then
      redis.call('SET', root .. ':head', position)
    end
    if tonumber(position) > tonumber(redis.call('GET', root .. ':last') or '0') then
      redis.call('SET', root .. ':last', position)
    end
  end
end
""",
)

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
