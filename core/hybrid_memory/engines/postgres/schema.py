"""The schema of a store. One of another version is refused: whoever changes the schema raises the version.

Empty strings stand for missing parts of a scope, because UNIQUE treats NULLs as different. Times are microseconds since
1970. Text is compared bytewise.

Statements name the schema of these tables ``main.``; see `QualifyingCursor`.

Row-level security complements the scope in each query: a transaction names the owner whose rows it sees in the setting
``hybrid_memory.owner``, or ``*`` for all; without the setting it sees no rows.
"""

from __future__ import annotations

from hybrid_memory.engines.sql import RECORDS

OWNED = ("events", "dropped", "indexed", "records", "vectors", "gone")  # tables with rows that belong to an owner

VERSION = 5

SCHEMA = """
    CREATE TABLE main.owners(
        id integer PRIMARY KEY,
        tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL,
        agent text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL,
        head bigint NOT NULL DEFAULT 0,
        UNIQUE(tenant, "user", agent, space)
    );
    CREATE SEQUENCE main.positions;
    CREATE TABLE main.events(
        owner integer NOT NULL REFERENCES main.owners(id),
        position bigint NOT NULL,
        session text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        at bigint NOT NULL,
        payload text NOT NULL,
        sources text NOT NULL,
        author text NOT NULL,
        PRIMARY KEY(owner, position),
        UNIQUE(owner, id, session)
    );
    CREATE INDEX events_of_session ON main.events(owner, session, position);
    CREATE INDEX events_of_kind ON main.events(owner, kind, position) WHERE kind <> 'message';
    CREATE INDEX events_of_session_kind ON main.events(owner, session, kind, position) WHERE kind <> 'message';
    CREATE TABLE main.dropped(
        owner integer NOT NULL REFERENCES main.owners(id),
        session text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        position bigint NOT NULL,
        kind text COLLATE "C" NOT NULL,
        digest bytea NOT NULL,
        PRIMARY KEY(owner, id, session),
        UNIQUE(owner, position)
    );

    CREATE FUNCTION main.new_owner(_tenant text, _user text, _agent text, _space text) RETURNS integer
    LANGUAGE plpgsql AS $$
    DECLARE
        _owner integer;
    BEGIN
        LOOP
            INSERT INTO main.owners(id, tenant, "user", agent, space)
                SELECT coalesce(max(id), 0) + 1, _tenant, _user, _agent, _space FROM main.owners ON CONFLICT DO NOTHING;
            SELECT o.id INTO _owner FROM main.owners o
                WHERE o.tenant = _tenant AND o."user" = _user AND o.agent = _agent AND o.space = _space
                FOR NO KEY UPDATE;
            IF _owner IS NOT NULL THEN
                RETURN _owner;
            END IF;
        END LOOP;
    END
    $$;
    CREATE FUNCTION main.move_on(_position bigint) RETURNS void LANGUAGE sql AS $$
        SELECT pg_advisory_xact_lock(hashtext('hybrid_memory positions'), 'main.positions'::regclass::oid::integer);
        SELECT setval('main.positions', p.least) FROM main.positions s,
            (SELECT greatest(_position, (SELECT max(head) FROM main.owners)) AS least) p
            WHERE s.last_value < p.least OR NOT s.is_called
    $$;

    CREATE TABLE main.indexed(
        owner integer PRIMARY KEY REFERENCES main.owners(id),
        applied bigint NOT NULL DEFAULT 0,
        anchor text NOT NULL DEFAULT '',
        number bigint NOT NULL DEFAULT 0,
        epoch bigint NOT NULL DEFAULT 0,
        holder text NOT NULL DEFAULT '',
        leased timestamptz NOT NULL DEFAULT '-infinity'
    );
    CREATE TABLE main.vectors(
        owner integer NOT NULL,
        record bigint NOT NULL,
        key bytea NOT NULL,
        vector bytea NOT NULL,
        number bigint NOT NULL,
        PRIMARY KEY(owner, record)
    );
    ALTER TABLE main.vectors ALTER vector SET STORAGE EXTERNAL;
    CREATE INDEX vectors_by_key ON main.vectors(key);
    CREATE TABLE main.gone(
        owner integer NOT NULL,
        number bigint NOT NULL,
        id bigint NOT NULL,
        PRIMARY KEY(owner, number, id)
    );
"""
SCHEMA += RECORDS.format(number="bigint", text='text COLLATE "C"')

POLICY = """
    ALTER TABLE main.{table} ENABLE ROW LEVEL SECURITY;
    ALTER TABLE main.{table} FORCE ROW LEVEL SECURITY;
    CREATE POLICY one_owner ON main.{table}
        USING (CASE WHEN owner = coalesce((
            SELECT CASE coalesce(current_setting('hybrid_memory.owner', true), '')
                WHEN '' THEN 0 WHEN '*' THEN NULL ELSE current_setting('hybrid_memory.owner')::integer END
        ), owner) THEN true ELSE false END)
"""
"""The policy of each table with owners' rows; the setting is read once per query.

The CASE makes it a plain test of rows: as a comparison, the planner would consider it a rare condition.
"""

APPEND = """
CREATE OR REPLACE FUNCTION main.append(
    _tenant text, _user text, _agent text, _space text, _seen bigint,
    _ids text[], _sessions text[], _kinds text[], _ats bigint[], _payloads text[], _sources text[], _authors text[],
    _known bigint[]
) RETURNS TABLE(place integer, at_position bigint, stands text, said text, digest bytea) LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
DECLARE
    _owner integer;
    _head bigint;
    _last bigint;
BEGIN
    PERFORM set_config('hybrid_memory.owner', '*', true);
    SELECT o.id, o.head INTO _owner, _head FROM main.owners o
        WHERE o.tenant = _tenant AND o."user" = _user AND o.agent = _agent AND o.space = _space FOR NO KEY UPDATE;
    IF _owner IS NULL THEN
        _owner := main.new_owner(_tenant, _user, _agent, _space);
        SELECT o.head INTO _head FROM main.owners o WHERE o.id = _owner;
    END IF;
    PERFORM set_config('hybrid_memory.owner', _owner::text, true);
    IF _seen IS NOT NULL THEN
        SELECT e.position INTO _last FROM main.events e
            WHERE e.owner = _owner AND e.kind = 'erased' ORDER BY e.kind DESC, e.position DESC LIMIT 1;
        IF _last > _seen THEN
            RAISE EXCEPTION USING ERRCODE = 'HM001', MESSAGE = _last::text;
        END IF;
    END IF;
    RETURN QUERY
        SELECT d.place::integer, coalesce(e.position, x.position), coalesce(e.kind, x.kind), e.payload, x.digest
        FROM unnest(_ids, _sessions, _known) WITH ORDINALITY d(id, session, known, place)
        LEFT JOIN LATERAL (
            SELECT * FROM main.events e WHERE e.owner = _owner AND e.id = d.id AND e.session || '' = d.session OFFSET 0
        ) e ON true
        LEFT JOIN LATERAL (
            SELECT * FROM main.dropped x WHERE x.owner = _owner AND x.id = d.id AND x.session || '' = d.session OFFSET 0
        ) x ON true
        WHERE coalesce(e.position, x.position) IS DISTINCT FROM d.known;
    IF FOUND THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtext('hybrid_memory positions'), 'main.positions'::regclass::oid::integer);
    IF _head = 0 THEN
        SELECT max(o.head) INTO _head FROM (SELECT * FROM main.owners ORDER BY id DESC LIMIT 20) o;
    END IF;
    IF (SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END FROM main.positions s) < _head THEN
        RAISE EXCEPTION USING ERRCODE = 'HM002', MESSAGE = 'the sequence of positions is behind the events';
    END IF;
    RETURN QUERY
        WITH drafts AS MATERIALIZED (
            SELECT d.*, nextval('main.positions') AS position
            FROM (
                SELECT * FROM unnest(_ids, _sessions, _kinds, _ats, _payloads, _sources, _authors, _known)
                WITH ORDINALITY d(id, session, kind, at, payload, sources, author, known, place)
                WHERE d.known IS NULL ORDER BY d.place
            ) d
        ), appended AS (
            INSERT INTO main.events(owner, position, session, id, kind, at, payload, sources, author)
            SELECT _owner, d.position, d.session, d.id, d.kind, d.at, d.payload, d.sources, d.author
            FROM drafts d ORDER BY d.position
        )
        SELECT d.place::integer, d.position, NULL::text, NULL::text, NULL::bytea FROM drafts d;
    IF FOUND THEN
        UPDATE main.owners o SET head = currval('main.positions') WHERE o.id = _owner;
    END IF;
END
$body$
"""
"""Appends events while the owner's row is locked, so that a reader that follows positions misses none.

If an id is taken by an event other than a ``_known`` one, it writes nothing and returns the events with these ids.
The sequence of positions may be behind, as logical replication copies no sequences: then it raises HM002, and `move_on`
has to run. Without ``|| ''``, a plan made while the table was small would scan all events of the session.
"""
