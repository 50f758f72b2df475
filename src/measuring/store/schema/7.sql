-- Version 7. The definition of a cell of an irregular collective has the distribution of its data, unless that is
-- uniform; so has a verdict. Nothing else changes in stores of version 6, which have no such cells; colltune 0.2 cannot
-- read them.

ALTER TABLE verdict ADD COLUMN distribution TEXT; -- vocabulary::Distribution; NULL if it is uniform
