-- Records that a run is lost, for the session that now holds its lock; starts nothing. See the function.
-- $1 name, $2 epoch, $3 whether its process died (false: it was ours, and its end could not be told), $4 token of leases
select s.deaths, s.gave_up from {schema}.settle($1::text, $2::bigint, $3::boolean, $4::text::uuid) s
