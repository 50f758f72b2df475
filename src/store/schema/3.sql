-- Version 3. Where the time of a task went. For earlier ones, and for imported ones, that is unknown: NULL.

ALTER TABLE task ADD COLUMN spent TEXT;               -- wire::Spending
