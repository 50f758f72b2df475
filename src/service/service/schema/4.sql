-- Tasks that the service submits by itself.
CREATE TABLE schedule (
    name TEXT PRIMARY KEY,
    machine INTEGER NOT NULL REFERENCES machine,
    -- `ScheduleDefinition` as JSON.
    definition TEXT NOT NULL,
    -- The newest entry of the audit about it.
    revision INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    -- Who paused it, why and when; all null while it is not paused.
    paused_by TEXT,
    pause_reason TEXT,
    paused_at INTEGER,
    -- The number of its tasks that failed one after the other.
    failures INTEGER NOT NULL DEFAULT 0,
    -- Times up to this one have been dealt with.
    considered_at INTEGER NOT NULL,
    -- The event after which it is to submit its task.
    event TEXT,
    -- The time at which it submitted its newest task, and the task.
    submitted_at INTEGER,
    last_task INTEGER REFERENCES task
) STRICT, WITHOUT ROWID;

-- The name of the schedule that submitted the task.
ALTER TABLE task ADD COLUMN schedule TEXT;
CREATE INDEX task_of_schedule ON task (schedule, state) WHERE schedule IS NOT NULL;

-- The epoch of the newest points of a library, by its name without the version.
CREATE TABLE measured_epoch (
    machine INTEGER NOT NULL REFERENCES machine,
    library TEXT NOT NULL,
    epoch INTEGER NOT NULL REFERENCES epoch,
    PRIMARY KEY (machine, library)
) STRICT, WITHOUT ROWID;
INSERT INTO measured_epoch
    SELECT machine, substr(library, 1, instr(library || '-', '-') - 1), max(id) FROM epoch GROUP BY 1, 2;
