-- A backfill has nothing left to run.
-- $1 id
update {schema}.request q set answered_at = clock_timestamp() where q.id = $1::bigint and q.answered_at is null
