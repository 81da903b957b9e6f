select null::text as name, null::bigint as key, null::bigint as epoch, false as open, null::int as pid, null::text as node,
    null::text as exclusive_group
  where false
