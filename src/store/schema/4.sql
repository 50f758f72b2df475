-- Version 4. How the calls of a task followed each other. Earlier ones, and imported ones, began together,
-- and experiments have patterns of their own: NULL.

ALTER TABLE task ADD COLUMN pattern TEXT;             -- vocabulary::Pattern, unless calls began together

-- In which order the ranks of a launch's communicators stood on their nodes. For earlier launches,
-- and for imported ones, that is unknown: no row.

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
