-- Puts on record that occurrences are passed over without a run: row first, history second. Only by who has the job to himself, and
-- only on the row that the decision rests on: a node that merely finds the lock taken records nothing.
-- $1 name, $2 epoch seen, $3 newest occurrence, $4 how many, $5 reason, $6 node, $7 token of leases
with current as (
  select j.name, j.key from {schema}.job j
  where j.name = $1::text and j.epoch = $2::bigint and j.epoch = j.ended_epoch and j.handled_until < $3::timestamptz
  for no key update
),
passed as (
  update {schema}.job j set
    handled_until = $3::timestamptz,
    open_for = case when j.open_for > $3::timestamptz then j.open_for end,
    attempts = case when j.open_for > $3::timestamptz then j.attempts else 0 end,
    not_before = case when j.open_for > $3::timestamptz or j.deaths > 0 then j.not_before end
  from current c
  where j.name = c.name and {schema}.may_run(c.name, c.key, $7::text::uuid)
  returning j.name
),
skipped as (
  insert into {schema}.history (job, scheduled_for, outcome, reason, count, node)
  select p.name, $3::timestamptz, 'skipped', $5::text, $4::bigint, $6::text from passed p
)
select p.name from passed p
