"""The schema of the file. A store of another version is refused: whoever changes the schema raises the version."""

from __future__ import annotations

APPLICATION_ID = 0x48414D31
"""Identifies the file ("HAM1"), so that another program's database is not taken for a memory."""

VERSION = 13

SCHEMA = """
    -- Empty strings stand for absent scope parts, because UNIQUE treats NULLs as different.
    CREATE TABLE owners(
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL, space TEXT NOT NULL,
        UNIQUE(tenant, user, agent, space)
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
        author TEXT NOT NULL DEFAULT '',
        UNIQUE(owner, session, id)
    );
    CREATE INDEX events_of_owner ON events(owner, position);
    CREATE INDEX events_of_session ON events(owner, session, position);
    CREATE INDEX events_of_kind ON events(owner, session, kind, position) WHERE kind <> 'message';
    CREATE INDEX events_of_owner_kind ON events(owner, kind, position) WHERE kind <> 'message';
    CREATE INDEX events_of_id ON events(owner, id);

    -- Which ids stood in the log before their events went to the archive, and a digest of what they said.
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

    -- What erasing has to finish after a crash.
    CREATE TABLE erasures(one INTEGER PRIMARY KEY CHECK (one = 1), begun INTEGER NOT NULL, scrubbed INTEGER NOT NULL);
    INSERT INTO erasures VALUES (1, 0, 0);

    -- The anchor says which event stood at the applied position, so that an index notices that its log was set back.
    CREATE TABLE index_state(
        owner INTEGER PRIMARY KEY REFERENCES owners(id), applied INTEGER NOT NULL, anchor TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE embedder(one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL, dim INTEGER NOT NULL);

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
        metadata TEXT NOT NULL,
        turn INTEGER NOT NULL,
        author TEXT NOT NULL,
        origin TEXT NOT NULL
    );
    CREATE INDEX records_in_segment ON records(segment, ordinal);
    CREATE INDEX records_of_session ON records(owner, session, id);
    CREATE INDEX records_in_time ON records(owner, at);
    CREATE INDEX records_with_metadata ON records(owner, id) WHERE metadata <> '{}';
    CREATE INDEX records_used ON records(owner, last_used, uses) WHERE last_used IS NOT NULL;
    -- All that is kept in memory of an owner's records, in one place however many others' records come between them.
    CREATE INDEX records_of_owner ON records(
        owner, id, segment, ordinal, length, at, importance, uses, last_used, turn, kind, category, origin, session
    );
    -- What is kept in memory of an owner, or in files, follows the changes, and is made anew when a revision changes.
    CREATE TABLE revision(one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
    INSERT INTO revision VALUES (1, abs(random()) >> 8);
    CREATE TABLE owner_revisions(owner INTEGER PRIMARY KEY REFERENCES owners(id), number INTEGER NOT NULL);
    CREATE TABLE changes(seq INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL, record INTEGER NOT NULL);
    CREATE INDEX changes_of_owner ON changes(owner, seq);

    -- The text index, in blocks of one owner each.
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

    CREATE TABLE pending(record INTEGER PRIMARY KEY REFERENCES records(id), owner INTEGER NOT NULL);
    CREATE INDEX pending_of_owner ON pending(owner, record);
    CREATE TABLE embeddings(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
    CREATE TABLE vectors(
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL,
        record INTEGER NOT NULL UNIQUE REFERENCES records(id),
        embedding INTEGER NOT NULL REFERENCES embeddings(id)
    );
    CREATE INDEX vectors_of_owner ON vectors(owner, seq);
    CREATE INDEX vectors_of_embedding ON vectors(embedding);
"""
