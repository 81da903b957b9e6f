-- The lock goes with the transaction, whatever becomes of it.
-- $1 the migration's key
select pg_try_advisory_xact_lock($1::bigint) as granted
