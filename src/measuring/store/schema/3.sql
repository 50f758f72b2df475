-- Version 3. The parts of a task's time. NULL for earlier and imported tasks, for which they are unknown.

ALTER TABLE task ADD COLUMN spent TEXT;               -- wire::TimeBreakdown
