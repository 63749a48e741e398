"""The schema of a store. One of another version is refused: whoever changes the schema raises the version.

Empty strings stand for missing parts of a scope, because UNIQUE treats NULLs as different. Times are microseconds since
1970. Text is compared bytewise.

Cached query plans date from when a table was empty and all its indexes looked equally good. So each index begins with a
column that only its own queries use (the session), and a query that must use another index says ``owner + 0`` or
``session || ''``.

Row-level security complements the scope in each query: a transaction names the owner whose rows it sees in the setting
``hybrid_memory.owner``, or ``*`` for all; without the setting it sees no rows.
"""

from __future__ import annotations

OWNED = ("events", "dropped", "indexed", "records", "postings", "term_counts", "vectors")
"""Tables with rows that belong to an owner."""

VERSION = 2

SCHEMA = """
    CREATE TABLE owners(
        id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL,
        agent text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL,
        head bigint NOT NULL DEFAULT 0,
        UNIQUE(tenant, "user", agent, space)
    );
    CREATE SEQUENCE positions;
    CREATE TABLE events(
        owner integer NOT NULL REFERENCES owners(id),
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
    CREATE INDEX events_of_session ON events(session, owner, position);
    CREATE INDEX events_of_kind ON events(owner, kind, position) WHERE kind <> 'message';
    CREATE INDEX events_of_session_kind ON events(session, owner, kind, position) WHERE kind <> 'message';
    CREATE TABLE dropped(
        owner integer NOT NULL REFERENCES owners(id),
        session text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        position bigint NOT NULL,
        kind text COLLATE "C" NOT NULL,
        digest bytea NOT NULL,
        PRIMARY KEY(owner, id, session),
        UNIQUE(owner, position)
    );

    CREATE TABLE embedder(one integer PRIMARY KEY CHECK (one = 1), name text NOT NULL, dim integer NOT NULL);
    CREATE TABLE indexed(
        owner integer PRIMARY KEY REFERENCES owners(id),
        applied bigint NOT NULL DEFAULT 0,
        anchor text NOT NULL DEFAULT '',
        records bigint NOT NULL DEFAULT 0,
        words bigint NOT NULL DEFAULT 0,
        vectors bigint NOT NULL DEFAULT 0,
        total bytea NOT NULL DEFAULT ''
    );
    CREATE TABLE records(
        id bigint PRIMARY KEY,
        owner integer NOT NULL REFERENCES owners(id),
        session text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        category text COLLATE "C",
        speaker text NOT NULL,
        text text NOT NULL,
        at bigint NOT NULL,
        segment bigint NOT NULL,
        ordinal bigint NOT NULL,
        length integer NOT NULL,
        importance double precision NOT NULL,
        uses bigint NOT NULL,
        last_used bigint,
        valid_from bigint,
        valid_to bigint,
        sources text NOT NULL,
        metadata text NOT NULL,
        turn bigint NOT NULL,
        author text NOT NULL,
        origin text COLLATE "C" NOT NULL,
        pairs bigint[] NOT NULL,
        terms bigint[] NOT NULL,
        words integer NOT NULL,
        pending boolean NOT NULL DEFAULT true
    );
    CREATE INDEX records_in_segment ON records(segment, ordinal);
    CREATE INDEX records_in_time ON records(owner, at, id);
    CREATE INDEX records_of_session ON records(session, owner, id);
    CREATE INDEX records_pending ON records(owner, id) WHERE pending;
    CREATE TABLE postings(
        owner integer NOT NULL,
        term bigint NOT NULL,
        record bigint NOT NULL,
        count integer NOT NULL,
        words integer NOT NULL,
        PRIMARY KEY(owner, term, record) INCLUDE (count, words)
    );
    CREATE TABLE term_counts(
        owner integer NOT NULL,
        term bigint NOT NULL,
        written text COLLATE "C" NOT NULL,
        records bigint NOT NULL,
        PRIMARY KEY(owner, term)
    );
    CREATE INDEX term_counts_written ON term_counts((owner + 0), written);
    CREATE TABLE vectors(
        owner integer NOT NULL,
        record bigint NOT NULL,
        key bytea NOT NULL,
        vector vector NOT NULL,
        PRIMARY KEY(owner, record)
    );
    CREATE INDEX vectors_by_key ON vectors(key);

    CREATE FUNCTION seen_owner() RETURNS integer STABLE LANGUAGE sql AS $$
        SELECT CASE coalesce(current_setting('hybrid_memory.owner', true), '')
            WHEN '' THEN 0 WHEN '*' THEN -1 ELSE current_setting('hybrid_memory.owner')::integer END
    $$;
"""

POLICY = """
    ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
    ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
    CREATE POLICY one_owner ON {table}
        USING (CASE (SELECT seen_owner()) WHEN -1 THEN true ELSE owner = (SELECT seen_owner()) END)
"""
"""The policy of each table with owners' rows; the setting is read once per query.

The CASE makes it a plain test of rows: as a comparison, the planner would consider it a rare condition.
"""

APPEND = """
CREATE OR REPLACE FUNCTION append(
    _tenant text, _user text, _agent text, _space text, _seen bigint,
    _ids text[], _sessions text[], _kinds text[], _ats bigint[], _payloads text[], _sources text[], _authors text[],
    _known bigint[]
) RETURNS TABLE(place integer, at_position bigint, stands text, said text, digest bytea) LANGUAGE plpgsql AS $body$
DECLARE
    _owner integer;
    _last bigint;
BEGIN
    PERFORM set_config('hybrid_memory.owner', '*', true);
    SELECT o.id INTO _owner FROM owners o
        WHERE o.tenant = _tenant AND o."user" = _user AND o.agent = _agent AND o.space = _space FOR NO KEY UPDATE;
    IF _owner IS NULL THEN
        INSERT INTO owners(tenant, "user", agent, space) VALUES (_tenant, _user, _agent, _space) ON CONFLICT DO NOTHING;
        SELECT o.id INTO _owner FROM owners o
            WHERE o.tenant = _tenant AND o."user" = _user AND o.agent = _agent AND o.space = _space FOR NO KEY UPDATE;
    END IF;
    PERFORM set_config('hybrid_memory.owner', _owner::text, true);
    IF _seen IS NOT NULL THEN
        SELECT e.position INTO _last FROM events e
            WHERE e.owner = _owner AND e.kind = 'erased' ORDER BY e.kind DESC, e.position DESC LIMIT 1;
        IF _last > _seen THEN
            RAISE EXCEPTION USING ERRCODE = 'HM001', MESSAGE = _last::text;
        END IF;
    END IF;
    RETURN QUERY
        SELECT d.place::integer, coalesce(e.position, x.position), coalesce(e.kind, x.kind), e.payload, x.digest
        FROM unnest(_ids, _sessions, _known) WITH ORDINALITY d(id, session, known, place)
        LEFT JOIN LATERAL (
            SELECT * FROM events e WHERE e.owner = _owner AND e.id = d.id AND e.session || '' = d.session OFFSET 0
        ) e ON true
        LEFT JOIN LATERAL (
            SELECT * FROM dropped x WHERE x.owner = _owner AND x.id = d.id AND x.session || '' = d.session OFFSET 0
        ) x ON true
        WHERE coalesce(e.position, x.position) IS DISTINCT FROM d.known;
    IF FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
        WITH drafts AS MATERIALIZED (
            SELECT d.*, nextval('positions') AS position
            FROM (
                SELECT * FROM unnest(_ids, _sessions, _kinds, _ats, _payloads, _sources, _authors, _known)
                WITH ORDINALITY d(id, session, kind, at, payload, sources, author, known, place)
                WHERE d.known IS NULL ORDER BY d.place
            ) d
        ), appended AS (
            INSERT INTO events(owner, position, session, id, kind, at, payload, sources, author)
            SELECT _owner, d.position, d.session, d.id, d.kind, d.at, d.payload, d.sources, d.author
            FROM drafts d ORDER BY d.position
        )
        SELECT d.place::integer, d.position, NULL::text, NULL::text, NULL::bytea FROM drafts d;
    IF FOUND THEN
        UPDATE owners o SET head = currval('positions') WHERE o.id = _owner;
    END IF;
END
$body$
"""
"""Appends events while the owner's row is locked, so that a reader that follows positions misses none.

If an id is taken by an event other than a ``_known`` one, it writes nothing and returns the events with these ids.
Without ``|| ''``, a plan made while the table was small would scan all events of the session.
"""
