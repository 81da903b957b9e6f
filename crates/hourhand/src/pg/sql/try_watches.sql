-- The watch of a job is its key in the two-integer form: objsubid = 2, never in conflict with the lock itself.
-- $1 classids, $2 objids (as signed integers), $3 mark
select w.classid, w.objid,
  case when current_setting('hourhand.session', true) = $3::text then pg_try_advisory_lock(w.classid, w.objid) end as granted
from unnest($1::int[], $2::int[]) with ordinality as w(classid, objid, place)
