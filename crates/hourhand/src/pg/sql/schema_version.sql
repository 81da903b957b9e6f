-- How far the schema is migrated.
select coalesce(max(m.version), 0) as version from {schema}.migration m
