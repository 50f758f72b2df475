-- What a machine was while points were measured. Points of different epochs are never compared.
CREATE TABLE epoch (
    id INTEGER PRIMARY KEY,
    machine INTEGER NOT NULL REFERENCES machine,
    -- `NAME-VERSION` of the MPI library.
    library TEXT NOT NULL,
    -- SHA-256 of `library` and `measured`.
    fingerprint TEXT NOT NULL,
    -- `MeasuredMachine` as JSON.
    measured TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    UNIQUE (machine, fingerprint)
) STRICT;

-- A choice of a machine's tables at a size, for all releases of a library.
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    machine INTEGER NOT NULL REFERENCES machine,
    -- The library's name without its version.
    library TEXT NOT NULL,
    -- The way in which the choice was put in place: `driver`, `export` or `force`.
    via TEXT NOT NULL,
    collective TEXT NOT NULL,
    nodes INTEGER NOT NULL,
    ppn INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    operators TEXT NOT NULL,
    chosen TEXT NOT NULL,
    -- That of the data of an irregular collective; empty for others.
    distribution TEXT NOT NULL,
    UNIQUE (machine, library, via, collective, nodes, ppn, bytes, operators, chosen, distribution)
) STRICT;

-- What a task measured.
CREATE TABLE point (
    series INTEGER NOT NULL REFERENCES series,
    epoch INTEGER NOT NULL REFERENCES epoch,
    task INTEGER NOT NULL REFERENCES task,
    at INTEGER NOT NULL,
    -- The time of the table's choice, and of the library's default.
    seconds REAL NOT NULL,
    default_seconds REAL NOT NULL,
    -- Whether other work was running; such a point is shown, and not compared.
    busy INTEGER NOT NULL,
    PRIMARY KEY (series, epoch, task)
) STRICT, WITHOUT ROWID;

-- Changes that have one cause.
CREATE TABLE finding (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    epoch INTEGER NOT NULL REFERENCES epoch,
    cause TEXT NOT NULL CHECK (cause IN ('algorithm', 'machine')),
    slower INTEGER NOT NULL,
    found_at INTEGER NOT NULL,
    -- The state of its newest note, or `open`.
    state TEXT NOT NULL CHECK (state IN ('open', 'acknowledged', 'accepted', 'fixed', 'invalid'))
) STRICT;
CREATE INDEX finding_of_epoch ON finding (epoch, id);

-- A change of a series. The newest level of a series begins with its newest change.
CREATE TABLE change (
    id INTEGER PRIMARY KEY,
    finding INTEGER NOT NULL REFERENCES finding,
    series INTEGER NOT NULL REFERENCES series,
    epoch INTEGER NOT NULL REFERENCES epoch,
    quantity TEXT NOT NULL CHECK (quantity IN ('ratio', 'default')),
    -- Medians: a ratio, or seconds.
    before REAL NOT NULL,
    after REAL NOT NULL,
    -- The task of the first point of the new level, and the task whose point showed the change.
    first_task INTEGER NOT NULL REFERENCES task,
    found_by INTEGER NOT NULL REFERENCES task,
    began_at INTEGER NOT NULL
) STRICT;
CREATE INDEX change_of_series ON change (series, epoch, quantity, id);
CREATE INDEX change_of_finding ON change (finding, id);

-- What people decided about findings, and why.
CREATE TABLE finding_note (
    id INTEGER PRIMARY KEY,
    finding INTEGER NOT NULL REFERENCES finding,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX note_of_finding ON finding_note (finding, id);

CREATE TRIGGER change_is_kept BEFORE DELETE ON change BEGIN SELECT raise(ABORT, 'changes are only added'); END;
CREATE TRIGGER change_is_final BEFORE UPDATE ON change BEGIN SELECT raise(ABORT, 'changes are only added'); END;
CREATE TRIGGER note_is_kept BEFORE DELETE ON finding_note BEGIN SELECT raise(ABORT, 'notes are only added'); END;
CREATE TRIGGER note_is_final BEFORE UPDATE ON finding_note BEGIN SELECT raise(ABORT, 'notes are only added'); END;
