-- Version 2. The invalid repetitions of a sample, and the reason why it has no further ones. NULL in rows of version 1,
-- which were measured without a global clock and without eliminations.

ALTER TABLE sample ADD COLUMN invalid BLOB;           -- indices into `seconds`, as little-endian u32
ALTER TABLE sample ADD COLUMN residual_seconds REAL;  -- the largest disagreement of the ranks' clocks
ALTER TABLE sample ADD COLUMN left TEXT;              -- vocabulary::Elimination, if the candidate left early
