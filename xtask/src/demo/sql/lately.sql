-- The newest $1 ends and skips, oldest first, as lines for a person.
select line from (
  select h.id, to_char(h.ended_at, 'HH24:MI:SS  ') || case
    when h.outcome = 'skipped' then format('%s occurrence(s) up to %s passed over (%s)',
      h.count, to_char(h.scheduled_for, 'HH24:MI:SS'), h.reason)
    else format('%s  %s  %s in %s s  %s', rpad(h.node, 7),
      rpad(h.trigger || coalesce(to_char(h.scheduled_for, ' HH24:MI:SS'), ''), 17), rpad(h.outcome, 9),
      round(extract(epoch from h.ended_at - h.started_at), 1), left(translate(coalesce(h.output, h.error, ''), E'\n', ''), 120))
    end || case when h.takeover > 0 then '  take-over' else '' end as line
  from hourhand.history h order by h.id desc limit $1
) newest
order by id
