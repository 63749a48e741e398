"""The schema of the file, as numbered migrations: plain SQL, applied in order, never edited after a release."""

from __future__ import annotations

APPLICATION_ID = 0x48414D31
"""Identifies the file ("HAM1"), so that another program's database is not taken for a memory."""

MIGRATIONS: tuple[str, ...] = (
    # 1: log, index, vectors. Empty strings stand for absent scope parts, because UNIQUE treats NULLs as different.
    """
    CREATE TABLE owners(
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL,
        UNIQUE(tenant, user, agent)
    );
    CREATE TABLE events(
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        owner INTEGER NOT NULL REFERENCES owners(id),
        session TEXT NOT NULL,
        kind TEXT NOT NULL,
        at INTEGER NOT NULL,
        payload TEXT NOT NULL,
        sources TEXT NOT NULL,
        UNIQUE(owner, session, id)
    );
    CREATE INDEX events_of_owner ON events(owner, position);
    CREATE INDEX events_of_session ON events(owner, session, position);

    CREATE TABLE index_state(
        owner INTEGER PRIMARY KEY REFERENCES owners(id),
        applied INTEGER NOT NULL
    );
    CREATE TABLE embedder(one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL, dim INTEGER NOT NULL);
    CREATE TABLE revision(one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
    INSERT INTO revision VALUES (1, abs(random()) >> 8);
    CREATE TABLE embeddings(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
    CREATE TABLE records(
        id INTEGER PRIMARY KEY,
        owner INTEGER NOT NULL REFERENCES owners(id),
        session TEXT NOT NULL,
        kind TEXT NOT NULL,
        category TEXT,
        speaker TEXT NOT NULL,
        text TEXT NOT NULL,
        at INTEGER NOT NULL,
        segment INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        length INTEGER NOT NULL,
        importance REAL NOT NULL,
        uses INTEGER NOT NULL,
        last_used INTEGER,
        valid_from INTEGER,
        valid_to INTEGER,
        sources TEXT NOT NULL,
        metadata TEXT NOT NULL
    );
    CREATE INDEX records_in_segment ON records(segment, ordinal);
    CREATE INDEX records_of_owner ON records(owner, id);
    CREATE INDEX records_of_session ON records(owner, session, id);
    CREATE INDEX records_in_time ON records(owner, at);
    CREATE TABLE pending(record INTEGER PRIMARY KEY REFERENCES records(id), owner INTEGER NOT NULL);
    CREATE INDEX pending_of_owner ON pending(owner, record);
    CREATE TABLE vectors(
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL,
        record INTEGER NOT NULL UNIQUE REFERENCES records(id),
        embedding INTEGER NOT NULL REFERENCES embeddings(id)
    );
    CREATE INDEX vectors_of_owner ON vectors(owner, seq);
    CREATE INDEX vectors_of_embedding ON vectors(embedding);
    CREATE VIRTUAL TABLE terms USING fts5(owner, words, tokenize = 'ascii');
    CREATE TABLE term_counts(
        owner INTEGER NOT NULL, term TEXT NOT NULL, records INTEGER NOT NULL,
        PRIMARY KEY(owner, term)
    ) WITHOUT ROWID;
    """,
    # 2: what is not a message is looked up by kind: the state of a session's queue, what was put aside.
    """
    CREATE INDEX events_of_kind ON events(owner, session, kind, position) WHERE kind <> 'message';
    """,
    # 3: shared spaces and authors, the turn behind a record, and what erasing has to finish after a crash.
    """
    CREATE TABLE owners_with_space(
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL, space TEXT NOT NULL,
        UNIQUE(tenant, user, agent, space)
    );
    INSERT INTO owners_with_space SELECT id, tenant, user, agent, '' FROM owners;
    DROP TABLE owners;
    ALTER TABLE owners_with_space RENAME TO owners;
    ALTER TABLE events ADD COLUMN author TEXT NOT NULL DEFAULT '';
    CREATE INDEX events_of_owner_kind ON events(owner, kind, position) WHERE kind <> 'message';
    ALTER TABLE records ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE records ADD COLUMN author TEXT NOT NULL DEFAULT '';
    UPDATE records SET turn = id;
    DELETE FROM term_counts WHERE records <= 0;
    DELETE FROM embeddings WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE embedding = embeddings.id);
    CREATE TABLE erasures(one INTEGER PRIMARY KEY CHECK (one = 1), begun INTEGER NOT NULL, scrubbed INTEGER NOT NULL);
    INSERT INTO erasures VALUES (1, 0, 0);
    """,
    # 4: what was used is found by when it was used.
    """
    CREATE INDEX records_used ON records(owner, last_used) WHERE last_used IS NOT NULL;
    """,
    # 5: which ids stood in the log before their events went to the archive, and a digest of what they said.
    """
    CREATE TABLE dropped(
        owner INTEGER NOT NULL REFERENCES owners(id),
        session TEXT NOT NULL,
        id TEXT NOT NULL,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY(owner, session, id)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX dropped_positions ON dropped(owner, position);
    """,
    # 6: whose words a record holds. Where the log is elsewhere, whoever follows it next takes them from there.
    """
    ALTER TABLE records ADD COLUMN origin TEXT NOT NULL DEFAULT 'imported';
    UPDATE records SET origin = coalesce((
        SELECT origin_of(o.space, e.payload) FROM events e JOIN owners o ON o.id = e.owner
        WHERE e.position = records.turn AND e.kind = 'message'
    ), origin) WHERE kind <> 'item';
    """,
    # 7: which event stood at the applied position, so that an index notices that its log was set back.
    """
    ALTER TABLE index_state ADD COLUMN anchor TEXT NOT NULL DEFAULT '';
    UPDATE index_state SET anchor = coalesce((
        SELECT event_mark(e.id, e.at) FROM events e WHERE e.owner = index_state.owner AND e.position = applied
    ), '');
    """,
    # 8: what is kept in memory of an owner is made anew when records of this owner were deleted.
    """
    CREATE TABLE owner_revisions(owner INTEGER PRIMARY KEY REFERENCES owners(id), number INTEGER NOT NULL);
    """,
    # 9: events are looked up by id in all sessions of an owner.
    """
    CREATE INDEX events_of_id ON events(owner, id);
    """,
    # 10: the text index in blocks of one owner each, in place of FTS5; `postings.rebuild` fills it. All that is kept in
    # memory of an owner's records stands in one place, however many others' records come between them.
    """
    CREATE TABLE words(record INTEGER PRIMARY KEY REFERENCES records(id), terms TEXT NOT NULL);
    CREATE TABLE posting_blocks(
        owner INTEGER NOT NULL, block INTEGER NOT NULL, level INTEGER NOT NULL,
        records INTEGER NOT NULL, length INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY(owner, block)
    ) WITHOUT ROWID;
    CREATE TABLE postings(
        owner INTEGER NOT NULL, block INTEGER NOT NULL, term TEXT NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY(owner, block, term)
    ) WITHOUT ROWID;
    DROP INDEX records_of_owner;
    CREATE INDEX records_of_owner ON records(
        owner, id, segment, ordinal, length, at, importance, uses, last_used, turn, kind, category, origin, session
    );
    """,
    # 11: what is kept of an owner's records elsewhere follows the changes, and which file has the quantized vectors.
    """
    CREATE TABLE changes(seq INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL, record INTEGER NOT NULL);
    CREATE INDEX changes_of_owner ON changes(owner, seq);
    CREATE TABLE vector_files(owner INTEGER PRIMARY KEY, token BLOB NOT NULL, seen INTEGER NOT NULL);
    """,
)

POSTINGS = 10
"""The migration whose tables are filled by code."""
