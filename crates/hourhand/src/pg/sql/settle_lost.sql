-- Records that these runs are lost, if they still are; starts nothing. See the function.
-- $1 epochs
select s.job as name, s.key, s.epoch, s.deaths, s.gave_up from {schema}.settle_lost($1::bigint[]) s
