-- A page of who did what, newest first.
-- $1 job (null: all), $2 before this id, $3 how many
select a.id, a.at, a.actor, a.action, a.job, a.detail::text as detail
from {schema}.audit a
where ($1::text is null or a.job = $1::text)
  and ($2::bigint is null or a.id < $2::bigint)
order by a.id desc
limit $3::bigint
