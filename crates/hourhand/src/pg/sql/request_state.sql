-- What has become of a request; no row: it was taken back.
-- $1 id
select q.epoch, q.node, q.answered_at is not null as answered, q.expires_at <= clock_timestamp() as void
from {schema}.request q where q.id = $1::bigint
