-- For a role that runs jobs, fences its writes and may be asked about all of it, and that can change nothing of the schema.
grant usage on schema {schema} to {role};
grant select on all tables in schema {schema} to {role};
grant insert, update, delete on all tables in schema {schema} to {role};
revoke insert, update, delete on {schema}.migration from {role};
-- What was done is not rewritten. (What is too old to be kept is removed, by any node.)
revoke update on {schema}.audit from {role};
-- To forget a job is for those who own the schema.
revoke delete on {schema}.job, {schema}.definition from {role};
grant execute on all functions in schema {schema} to {role};

-- What later migrations make, if the role that runs this also runs them.
alter default privileges in schema {schema} grant select, insert, update, delete on tables to {role};
alter default privileges in schema {schema} grant execute on functions to {role};

-- Only where several roles run jobs: to see, and to end, a holder of another role that has gone silent.
-- grant pg_read_all_stats, pg_signal_backend to {role};
