-- Version 2. What of a sample is not valid, and why there is no more of it. Rows of version 1 were
-- measured without a global clock and without racing: NULL.

ALTER TABLE sample ADD COLUMN invalid BLOB;           -- little-endian u32, places in seconds
ALTER TABLE sample ADD COLUMN residual_seconds REAL;  -- between the ranks' clocks
ALTER TABLE sample ADD COLUMN left TEXT;              -- wire::Left, if it left the race
