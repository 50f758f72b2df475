-- Version 1. Measurements are only added: triggers refuse to change or remove them.
-- Definitions are the JSON of types of `vocabulary`; times of day are seconds since the Unix epoch.

CREATE TABLE campaign (
    id         INTEGER PRIMARY KEY,
    digest     TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    definition TEXT NOT NULL,               -- the YAML text with its comments
    first_seen INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;

CREATE TABLE launch (
    number          INTEGER PRIMARY KEY,
    campaign        INTEGER NOT NULL REFERENCES campaign (id),
    library_name    TEXT NOT NULL,
    library_version TEXT NOT NULL,
    plan            TEXT NOT NULL,          -- wire::Plan, which names the spool file
    environment     TEXT,                   -- wire::LaunchStart, once the driver has reported it
    started         INTEGER NOT NULL DEFAULT (unixepoch()),
    ended           INTEGER,
    outcome         TEXT,
    CHECK ((ended IS NULL) = (outcome IS NULL))
) STRICT;

-- Each definition is stored once, since every sample refers to a subject and a candidate.
CREATE TABLE subject (
    id         INTEGER PRIMARY KEY,
    definition TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE candidate (
    id         INTEGER PRIMARY KEY,
    definition TEXT NOT NULL UNIQUE
) STRICT;

-- A row says that the task is stored, with all its samples.
CREATE TABLE task (
    launch          INTEGER NOT NULL REFERENCES launch (number),
    number          INTEGER NOT NULL,
    subject         INTEGER NOT NULL REFERENCES subject (id),
    elapsed_seconds REAL NOT NULL,
    PRIMARY KEY (launch, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE sample (
    launch    INTEGER NOT NULL,
    task      INTEGER NOT NULL,
    position  INTEGER NOT NULL,             -- the index of the candidate in the task
    candidate INTEGER NOT NULL REFERENCES candidate (id),
    warmup    INTEGER NOT NULL,
    batch     INTEGER NOT NULL,
    seconds   BLOB NOT NULL,                -- little-endian IEEE doubles, one for each repetition
    UNIQUE (launch, task, position),
    FOREIGN KEY (launch, task) REFERENCES task (launch, number)
) STRICT;

CREATE TABLE failure (
    launch    INTEGER NOT NULL REFERENCES launch (number),
    task      INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    subject   INTEGER NOT NULL REFERENCES subject (id),
    candidate INTEGER NOT NULL REFERENCES candidate (id),
    kind      TEXT NOT NULL,
    message   TEXT NOT NULL,
    forgotten INTEGER,                      -- the time at which a user asked to try the candidate again
    UNIQUE (launch, task, position)
) STRICT;

CREATE TRIGGER campaign_update BEFORE UPDATE ON campaign
BEGIN SELECT RAISE(ABORT, 'campaigns are append-only'); END;
CREATE TRIGGER campaign_delete BEFORE DELETE ON campaign
BEGIN SELECT RAISE(ABORT, 'campaigns are append-only'); END;
CREATE TRIGGER launch_delete BEFORE DELETE ON launch
BEGIN SELECT RAISE(ABORT, 'launches are append-only'); END;
CREATE TRIGGER subject_update BEFORE UPDATE ON subject
BEGIN SELECT RAISE(ABORT, 'subjects are append-only'); END;
CREATE TRIGGER subject_delete BEFORE DELETE ON subject
BEGIN SELECT RAISE(ABORT, 'subjects are append-only'); END;
CREATE TRIGGER candidate_update BEFORE UPDATE ON candidate
BEGIN SELECT RAISE(ABORT, 'candidates are append-only'); END;
CREATE TRIGGER candidate_delete BEFORE DELETE ON candidate
BEGIN SELECT RAISE(ABORT, 'candidates are append-only'); END;
CREATE TRIGGER task_update BEFORE UPDATE ON task
BEGIN SELECT RAISE(ABORT, 'tasks are append-only'); END;
CREATE TRIGGER task_delete BEFORE DELETE ON task
BEGIN SELECT RAISE(ABORT, 'tasks are append-only'); END;
CREATE TRIGGER sample_update BEFORE UPDATE ON sample
BEGIN SELECT RAISE(ABORT, 'raw samples are append-only'); END;
CREATE TRIGGER sample_delete BEFORE DELETE ON sample
BEGIN SELECT RAISE(ABORT, 'raw samples are append-only'); END;
CREATE TRIGGER failure_update BEFORE UPDATE OF launch, task, position, subject, candidate, kind, message ON failure
BEGIN SELECT RAISE(ABORT, 'failures are append-only'); END;
CREATE TRIGGER failure_delete BEFORE DELETE ON failure
BEGIN SELECT RAISE(ABORT, 'failures are append-only'); END;

-- INSERT OR REPLACE would remove rows without firing the triggers above.
CREATE TRIGGER task_replace BEFORE INSERT ON task
WHEN EXISTS (SELECT 1 FROM task WHERE launch = NEW.launch AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'tasks are append-only'); END;
CREATE TRIGGER sample_replace BEFORE INSERT ON sample
WHEN EXISTS (SELECT 1 FROM sample
             WHERE launch = NEW.launch AND task = NEW.task AND position = NEW.position)
BEGIN SELECT RAISE(ABORT, 'raw samples are append-only'); END;
