-- Version 3. Where the time of a task went. Of earlier ones, and of imported ones, nobody knows: NULL.

ALTER TABLE task ADD COLUMN spent TEXT;               -- wire::Spending
