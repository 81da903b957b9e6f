-- The newest entries of history of each of some jobs, newest first: what strips, timelines and trends are drawn from. As many index
-- entries are read as rows are returned, however long the history is: no filter may stand here.
-- The span of one name, by pairs in the order of the index, instead of an equality. With an equality the planner may walk the ids of all
-- jobs backwards: for a job that has not run for long, to the end. With a range of names it takes it to be small, and sorts it.
-- $1 names, $2 how many of each
select h.id, j.name as job, h.epoch, h.trigger, h.scheduled_for, h.started_at, h.ended_at, h.end_seen, h.outcome, h.reason, h.count,
  h.attempt, h.takeover, h.window_from, h.window_until, h.node, left(h.error, 200) as error, h.recorded_by,
  null::text as output
from unnest($1::text[]) as j(name)
cross join lateral (
  select * from {schema}.history n
  where (n.job, n.id) >= (j.name, 0) and (n.job, n.id) <= (j.name, 9223372036854775807)
  order by n.job desc, n.id desc limit $2::bigint) h
