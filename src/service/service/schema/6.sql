-- What tables did for a machine's jobs, by the day (UTC, since 1970) on which these started. Rows are removed after the
-- days that the configuration says.
CREATE TABLE usage_jobs (
    machine INTEGER NOT NULL REFERENCES machine,
    day INTEGER NOT NULL,
    -- The table; empty for jobs that have read none, `other` for tables that the machine does not have.
    digest TEXT NOT NULL,
    outcome TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (machine, day, digest, outcome)
) STRICT, WITHOUT ROWID;

-- The calls of these jobs, of all ranks together.
CREATE TABLE usage_calls (
    machine INTEGER NOT NULL REFERENCES machine,
    day INTEGER NOT NULL,
    digest TEXT NOT NULL,
    collective TEXT NOT NULL,
    -- What carried them out, and why.
    carried_by TEXT NOT NULL,
    calls INTEGER NOT NULL,
    -- Those of them whose time is known, and this time.
    timed_calls INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (machine, day, digest, collective, carried_by)
) STRICT, WITHOUT ROWID;

-- The jobs that have been counted, so that a line that is sent again does not count twice.
CREATE TABLE usage_seen (
    machine INTEGER NOT NULL REFERENCES machine,
    id INTEGER NOT NULL,
    day INTEGER NOT NULL,
    PRIMARY KEY (machine, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_seen_on_day ON usage_seen (day);
