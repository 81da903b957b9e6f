-- What has become of a request; no row: it was taken back.
-- $1 id
select q.epoch, q.node, q.answered_at is not null as answered from {schema}.request q where q.id = $1::bigint
