-- Version 4. How the calls of a task followed each other. Earlier ones, and imported ones, began together,
-- and experiments have patterns of their own: NULL.

ALTER TABLE task ADD COLUMN pattern TEXT;             -- vocabulary::Pattern, unless calls began together
