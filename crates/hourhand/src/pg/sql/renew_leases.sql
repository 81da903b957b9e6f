-- The ping of leases: each that is still ours and has not run out is prolonged. One that ran out is lost, even if nobody has taken it.
-- $1 names and $2 epochs of the runs of this node, $3 token, $4 ttl in seconds
with renewed as (
  update {schema}.lease l set expires_at = clock_timestamp() + make_interval(secs => $4::float8)
  where l.job = any($1::text[]) and l.token = $3::text::uuid and l.expires_at > clock_timestamp()
  returning l.job
)
select array(select r.job from renewed r) as owned,
  array(
    select c.epoch from {schema}.cancel c
    join unnest($1::text[], $2::bigint[]) as r(job, epoch) on r.job = c.job and r.epoch = c.epoch) as cancelled
