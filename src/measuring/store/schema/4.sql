-- Version 4. The pattern in which the calls of a task follow each other. NULL for calls that begin together, which
-- those of earlier and imported tasks do, and for experiments, which have patterns of their own.

ALTER TABLE task ADD COLUMN pattern TEXT;             -- vocabulary::Pattern, unless calls began together

-- The order of a launch's ranks on their nodes, for each shape. Earlier and imported launches, for which it is unknown,
-- have no row.

CREATE TABLE rank_order (
    launch     INTEGER NOT NULL REFERENCES launch (number),
    nodes      INTEGER NOT NULL,
    ppn        INTEGER NOT NULL,
    rank_order TEXT NOT NULL,               -- vocabulary::RankOrder
    PRIMARY KEY (launch, nodes, ppn)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER rank_order_update BEFORE UPDATE ON rank_order
BEGIN SELECT RAISE(ABORT, 'orders of ranks are append-only'); END;
CREATE TRIGGER rank_order_delete BEFORE DELETE ON rank_order
BEGIN SELECT RAISE(ABORT, 'orders of ranks are append-only'); END;

CREATE TRIGGER rank_order_replace BEFORE INSERT ON rank_order
WHEN EXISTS (SELECT 1 FROM rank_order
             WHERE launch = NEW.launch AND nodes = NEW.nodes AND ppn = NEW.ppn)
BEGIN SELECT RAISE(ABORT, 'orders of ranks are append-only'); END;
