-- Addresses that the service tells of events.
CREATE TABLE webhook (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL,
    -- The secret is made of this and of the key in the state folder. SHA-256 of the secret.
    salt BLOB NOT NULL,
    hash BLOB NOT NULL,
    -- JSON arrays; no events mean all, no machines all.
    events TEXT NOT NULL,
    machines TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL
) STRICT;

-- The messages to them. Those that have ended are removed after 30 days.
CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook INTEGER NOT NULL REFERENCES webhook,
    -- The value of `webhook-id`, the same in each attempt.
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    -- It is not sent before this time.
    due_at INTEGER NOT NULL DEFAULT 0,
    -- The reason why the last attempt failed.
    problem TEXT,
    ended_at INTEGER
) STRICT;
CREATE INDEX message_of_state ON message (state, due_at);
CREATE INDEX message_of_webhook ON message (webhook, id);
