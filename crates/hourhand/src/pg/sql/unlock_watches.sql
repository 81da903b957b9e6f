-- $1 classids, $2 objids (as signed integers)
select w.classid, w.objid, pg_advisory_unlock(w.classid, w.objid) as released
from unnest($1::int[], $2::int[]) with ordinality as w(classid, objid, place)
