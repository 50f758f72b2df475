-- Version 5. The verdicts of validations on the choices of tables, by size. Their launches are not kept.

CREATE TABLE verdict (
    id              INTEGER PRIMARY KEY,
    given           INTEGER NOT NULL,       -- seconds since the Unix epoch
    library_name    TEXT NOT NULL,
    library_version TEXT NOT NULL,
    conditions      TEXT NOT NULL,          -- campaign::Campaign::conditions
    pattern         TEXT NOT NULL,          -- vocabulary::Pattern
    collective      TEXT NOT NULL,
    nodes           INTEGER NOT NULL,
    ppn             INTEGER NOT NULL,
    rank_order      TEXT NOT NULL,          -- vocabulary::RankOrder
    operators       TEXT NOT NULL,          -- table::OperatorClass
    deployment      TEXT NOT NULL,          -- table::Deployment
    candidate       TEXT NOT NULL,          -- vocabulary::Candidate
    bytes           INTEGER NOT NULL,
    verdict         TEXT NOT NULL,          -- table::Found
    speedup         REAL,                   -- the default's time divided by the candidate's; NULL if it failed
    low             REAL,
    high            REAL,
    coverage        REAL,
    launches        INTEGER,
    seed            TEXT NOT NULL,          -- the seed of probes, which may exceed the range of INTEGER
    newest_launch   INTEGER NOT NULL        -- the newest launch in this store at that time; 0 if there was none
) STRICT;

CREATE TRIGGER verdict_update BEFORE UPDATE ON verdict
BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
CREATE TRIGGER verdict_delete BEFORE DELETE ON verdict
BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
CREATE TRIGGER verdict_replace BEFORE INSERT ON verdict
WHEN EXISTS (SELECT 1 FROM verdict WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
