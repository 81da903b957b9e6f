-- What is left to find out after a lease was asked for and the answer never came: leases of ours that no run owns are let go.
-- $1 names to keep, $2 token
with extra as (
  update {schema}.lease l set expires_at = '-infinity', epoch = null
  where l.token = $2::text::uuid and l.expires_at > clock_timestamp() and l.job <> all($1::text[])
)
select array(
  select l.job from {schema}.lease l
  where l.job = any($1::text[]) and l.token = $2::text::uuid and l.expires_at > clock_timestamp()) as kept
