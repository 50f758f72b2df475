-- The agents that carry out the tasks of machines on other hosts.
CREATE TABLE agent (
    machine INTEGER PRIMARY KEY REFERENCES machine,
    -- The random name of the agent's folder, and the agent's host.
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    heard_at INTEGER NOT NULL
) STRICT;

-- The campaigns of their folders.
CREATE TABLE agent_campaign (
    machine INTEGER NOT NULL REFERENCES machine,
    path TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (machine, path)
) STRICT, WITHOUT ROWID;

-- The tasks that agents have taken. The newest claim of a task is the valid one.
CREATE TABLE claim (
    -- The fencing number.
    fence INTEGER PRIMARY KEY AUTOINCREMENT,
    nonce TEXT NOT NULL,
    task INTEGER NOT NULL REFERENCES task,
    -- The name of the agent.
    agent TEXT NOT NULL,
    heard_at INTEGER NOT NULL,
    node_seconds REAL NOT NULL DEFAULT 0,
    -- The bytes of the agent's log that were received.
    log_received INTEGER NOT NULL DEFAULT 0,
    -- Whether its result ended the task; null until there is a result.
    counts INTEGER
) STRICT;
CREATE INDEX claim_of_task ON claim (task, fence);

-- Claims that this service has itself, as an agent of another one.
CREATE TABLE held_claim (
    fence INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    -- The task of the other service, and the one that carries it out here; null if it was refused.
    remote_task INTEGER NOT NULL,
    task INTEGER REFERENCES task,
    -- The reason why it was refused.
    problem TEXT,
    -- The bytes of the log that were sent.
    log_sent INTEGER NOT NULL DEFAULT 0,
    -- The time at which the other service has acknowledged or refused the result.
    ended_at INTEGER,
    PRIMARY KEY (fence, nonce)
) STRICT, WITHOUT ROWID;
