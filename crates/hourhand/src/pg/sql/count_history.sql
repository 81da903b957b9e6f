-- How many entries of history a job has, counted up to a bound: beyond it nobody reads the number, and counting millions takes
-- seconds. In the order of the index, so that the index alone is read (see recent.sql).
-- $1 job, $2 bound
select count(*) as entries from (
  select from {schema}.history h
  where (h.job, h.id) >= ($1::text, 0) and (h.job, h.id) <= ($1::text, 9223372036854775807)
  order by h.job, h.id limit $2::bigint) counted
