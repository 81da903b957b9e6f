-- Takes note that occurrences have waited too long. Of all the nodes that see the same, the first writes, and tells people. In the definition's
-- row, because an open fence holds the job's.
-- $1 names, $2 occurrences
update {schema}.definition d set late_for = w.occurrence
from unnest($1::text[], $2::timestamptz[]) as w(name, occurrence)
join {schema}.job j on j.name = w.name
where d.job = w.name and j.handled_until < w.occurrence and (d.late_for is null or d.late_for < w.occurrence)
returning d.job as name
