-- What the session's settings really are, in their own units.
-- $1 names
select s.name, s.setting from pg_settings s where s.name = any($1::text[])
