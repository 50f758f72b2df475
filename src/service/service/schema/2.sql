-- The time that services with this state have run, in milliseconds of the monotonic clock; one row.
CREATE TABLE served (milliseconds INTEGER NOT NULL) STRICT;
INSERT INTO served VALUES (0);

-- The time in `served` at which the release was made. The ages of tables count this time, as the system's clock may
-- be set.
ALTER TABLE release ADD COLUMN served INTEGER NOT NULL DEFAULT 0;

-- Earlier releases keep their distances from the newest one, which is at 0; none is older than the release before it.
DROP TRIGGER release_is_final;
UPDATE release SET served = min(0, dated.latest - (SELECT min(max(at), unixepoch() * 1000) FROM release))
    FROM (SELECT sequence AS number, max(at) OVER (ORDER BY sequence) AS latest FROM release) AS dated
    WHERE sequence = dated.number;
CREATE TRIGGER release_is_final BEFORE UPDATE ON release BEGIN SELECT raise(ABORT, 'releases are only added'); END;
