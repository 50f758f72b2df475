-- Times are milliseconds since 1970-01-01T00:00:00Z. Digests are SHA-256 in hexadecimal.

CREATE TABLE machine (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE campaign (
    id INTEGER PRIMARY KEY,
    -- `Campaign::digest`, with the overrides applied.
    digest TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    -- The path in the service's folder, with `/` between its parts.
    path TEXT NOT NULL,
    text TEXT NOT NULL,
    added_at INTEGER NOT NULL
) STRICT;

CREATE TABLE task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('tune', 'validate', 'check', 'report')),
    machine INTEGER NOT NULL REFERENCES machine,
    campaign INTEGER REFERENCES campaign,
    -- The table that is validated, checked or reported on.
    digest TEXT,
    -- The request: `TaskRequest` as JSON.
    request TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    -- The reason why it waits, what it does, or how it ended.
    reason TEXT NOT NULL,
    -- The earlier task of the same campaign that this one waits for, and whose result it takes.
    follows INTEGER REFERENCES task,
    actor TEXT NOT NULL,
    idempotency_key TEXT,
    submitted_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    -- After a failure of the environment, the task is not started again before this time.
    not_before INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    cancel_asked INTEGER NOT NULL DEFAULT 0,
    exit_code INTEGER,
    expected_node_seconds REAL,
    node_seconds REAL NOT NULL DEFAULT 0,
    -- The outcome: the last line that the child printed, as JSON.
    outcome TEXT,
    UNIQUE (actor, idempotency_key)
) STRICT;
CREATE INDEX task_of_state ON task (state, machine);

CREATE TABLE blob (
    digest TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A table that a machine's campaign made, or that was taken in.
CREATE TABLE version (
    id INTEGER PRIMARY KEY,
    machine INTEGER NOT NULL REFERENCES machine,
    digest TEXT NOT NULL REFERENCES blob,
    -- `NAME-VERSION` of the MPI library.
    library TEXT NOT NULL,
    name TEXT NOT NULL,
    campaign INTEGER REFERENCES campaign,
    task INTEGER REFERENCES task,
    -- The table that it replaced.
    parent TEXT REFERENCES blob,
    added_at INTEGER NOT NULL,
    UNIQUE (machine, digest)
) STRICT;

CREATE TABLE validation (
    id INTEGER PRIMARY KEY,
    machine INTEGER NOT NULL REFERENCES machine,
    digest TEXT NOT NULL REFERENCES blob,
    task INTEGER NOT NULL REFERENCES task,
    at INTEGER NOT NULL,
    -- Points that are significantly slower than the library's default.
    slower INTEGER NOT NULL,
    faster INTEGER NOT NULL,
    points INTEGER NOT NULL,
    -- The output of `validate --json`.
    details TEXT NOT NULL
) STRICT;

CREATE TABLE release (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    machine INTEGER NOT NULL REFERENCES machine,
    library TEXT NOT NULL,
    channel TEXT NOT NULL CHECK (channel IN ('candidate', 'canary', 'production')),
    action TEXT NOT NULL CHECK (action IN ('release', 'rollback', 'withdraw')),
    -- The released table; for `withdraw` the empty one.
    digest TEXT NOT NULL REFERENCES blob,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    -- `Vec<Gate>` as JSON.
    gates TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX release_of_channel ON release (machine, library, channel, sequence);

CREATE TABLE token (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    -- The scopes and the machines, each a JSON array; no machines mean all.
    scopes TEXT NOT NULL,
    machines TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE TABLE session (
    hash BLOB PRIMARY KEY,
    token INTEGER NOT NULL REFERENCES token,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pull (
    client TEXT NOT NULL,
    machine INTEGER NOT NULL REFERENCES machine,
    library TEXT NOT NULL,
    channel TEXT NOT NULL,
    digest TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (client, machine, library, channel)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    -- `task.submit`, `release.rollback`, `token.create` and the like.
    action TEXT NOT NULL,
    -- The object that was changed.
    subject TEXT NOT NULL,
    -- Further facts about the action, as JSON.
    details TEXT NOT NULL
) STRICT;

CREATE TRIGGER release_is_kept BEFORE DELETE ON release BEGIN SELECT raise(ABORT, 'releases are only added'); END;
CREATE TRIGGER release_is_final BEFORE UPDATE ON release BEGIN SELECT raise(ABORT, 'releases are only added'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT raise(ABORT, 'the audit is only added to'); END;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'the audit is only added to'); END;
