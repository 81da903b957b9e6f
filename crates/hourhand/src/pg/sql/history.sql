-- A page of history, newest first. By id, which grows with time: the page after it begins before its last id, however many rows
-- have come since. Outputs are large, and are read for one run only.
-- Ends have no index of their own, which every run would have to keep up: since they grow with the ids, but for what was on its way at one
-- time, the first id of a span is found by halving, in some two dozen looks at the primary key.
-- $1 job (null: all), $2 outcome, $3 ended since, $4 epoch, $5 before this id, $6 how many
with recursive halves (low, high) as (
  select min(h.id), max(h.id) + 1 from {schema}.history h where $3::timestamptz is not null
  union all
  select case when m.is_older then m.id + 1 else m.low end, case when m.is_older then m.high else m.middle end
  from (
    select s.low, s.high, (s.low + s.high) / 2 as middle, n.id,
      coalesce(n.ended_at < $3::timestamptz - interval '5 min', false) as is_older
    from halves s
    left join lateral (
      select p.id, p.ended_at from {schema}.history p where p.id >= (s.low + s.high) / 2 order by p.id limit 1) n on true
    where s.low < s.high) m
)
select h.id, h.job, h.epoch, h.trigger, h.scheduled_for, h.started_at, h.ended_at, h.end_seen, h.outcome, h.reason, h.count, h.attempt,
  h.takeover, h.window_from, h.window_until, h.node, h.error, h.recorded_by,
  case when $4::bigint is not null then h.output end as output
from {schema}.history h
where ($1::text is null or h.job = $1::text)
  and ($2::text is null or h.outcome = $2::text)
  and ($3::timestamptz is null or (h.ended_at >= $3::timestamptz and h.id >= (select max(f.low) from halves f)))
  and ($4::bigint is null or h.epoch = $4::bigint)
  and ($5::bigint is null or h.id < $5::bigint)
order by h.id desc
limit $6::bigint
