-- The runs after epoch $1 whose end is recorded, in the order of their starts, each with the occurrences that its own start
-- passed over because nobody had run them: written by that statement, so no other start lies between the two instants.
select h.epoch, h.node, h.trigger, h.scheduled_for, h.started_at, h.ended_at, h.outcome, h.takeover, h.window_until,
  coalesce(h.output, '') as output, coalesce(h.error, '') as error,
  coalesce((
    select sum(s.count) from hourhand.history s
    where s.outcome = 'skipped' and s.reason = 'coalesced'
      and h.epoch = (
        select max(r.epoch) from hourhand.history r
        where r.started_at <= s.ended_at and r.scheduled_for > s.scheduled_for
      )
  ), 0)::bigint as missed
from hourhand.history h
where h.epoch > $1
order by h.epoch
