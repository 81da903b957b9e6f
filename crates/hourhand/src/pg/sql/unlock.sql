-- Lets locks go and says so, to whoever waits for one. Each answer is read: a lock that was not ours to let go means that
-- our picture of the session is wrong.
-- $1 keys
select w.key, pg_advisory_unlock(w.key) as released, pg_notify('hourhand', 'free ' || w.key) as said
from unnest($1::bigint[]) with ordinality as w(key, place)
