-- Version 6. An algorithm is renamed. Measurements under its old name get the new one, which no other algorithm has.

DROP TRIGGER candidate_update;
UPDATE candidate SET definition = replace(definition, '"gather/binary_chunked"', '"gather/binary_streamed"')
WHERE definition LIKE '{"ours":{"algorithm":"gather/binary_chunked"%';
CREATE TRIGGER candidate_update BEFORE UPDATE ON candidate
BEGIN SELECT RAISE(ABORT, 'candidates are append-only'); END;

DROP TRIGGER verdict_update;
UPDATE verdict SET candidate = replace(candidate, '"gather/binary_chunked"', '"gather/binary_streamed"')
WHERE candidate LIKE '{"ours":{"algorithm":"gather/binary_chunked"%';
CREATE TRIGGER verdict_update BEFORE UPDATE ON verdict
BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
