-- Jobs take over the state of other names. See the function.
-- $1 names, $2 keys, $3 the other names
select w.name, {schema}.take_over(w.name, w.key, w.other) as done
from unnest($1::text[], $2::bigint[], $3::text[]) as w(name, key, other)
order by w.name
