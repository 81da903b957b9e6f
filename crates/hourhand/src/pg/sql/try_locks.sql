-- Tries the locks, in the order given, and waits for none. The CASE is the guard of a shared session: behind a transaction
-- pooler this statement may land on a backend that does not carry our mark, and then nothing must be taken. It is the one
-- place where a lock function stands beside a condition: CASE evaluates its branches in order, once a row.
-- $1 keys, $2 mark
select w.key,
  case when current_setting('hourhand.session', true) = $2::text then pg_try_advisory_lock(w.key) end as granted
from unnest($1::bigint[]) with ordinality as w(key, place)
