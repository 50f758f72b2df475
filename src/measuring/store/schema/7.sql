-- Version 7. The definition of a cell of an irregular collective has the distribution of its data, unless that is
-- uniform. Nothing changes in stores of version 6, which have no such cells; colltune 0.2 cannot read them.

SELECT 1;
