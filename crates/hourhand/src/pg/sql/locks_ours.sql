select j.name, j.key, j.epoch, j.epoch > j.ended_epoch as open, j.pid, j.node, d.body ->> 'exclusive_group' as exclusive_group
  from {schema}.job j left join {schema}.definition d on d.job = j.name
