-- The jobs there are, for whoever asked for one that is not there.
select j.name from {schema}.job j order by j.name limit 1000
