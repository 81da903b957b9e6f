-- Takes a request back, unless a start has taken it: the row is locked by whichever comes first, and the other sees what it did.
-- $1 id
delete from {schema}.request q where q.id = $1::bigint and q.answered_at is null
returning q.id
