"""The schema of the file. A store of another version is refused: whoever changes the schema raises the version."""

from __future__ import annotations

from hybrid_memory.engines.sql import RECORDS

APPLICATION_ID = 0x48414D31
"""Identifies the file ("HAM1"), so that another program's database is not taken for a memory."""

VERSION = 15

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
    CREATE TABLE indexed(
        owner INTEGER PRIMARY KEY REFERENCES owners(id),
        applied INTEGER NOT NULL DEFAULT 0, anchor TEXT NOT NULL DEFAULT '',
        number INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL
    );
    CREATE TABLE vectors(record INTEGER PRIMARY KEY REFERENCES records(id), key BLOB NOT NULL, vector BLOB NOT NULL);
    CREATE INDEX vectors_by_key ON vectors(key);
    CREATE TABLE gone(owner INTEGER, number INTEGER, id INTEGER, PRIMARY KEY(owner, number, id)) WITHOUT ROWID;
"""
SCHEMA += RECORDS.format(number="INTEGER", text="TEXT").replace("main.", "")
