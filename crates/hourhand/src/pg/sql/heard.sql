-- Says something on the channel, for a listener that wants to know whether it hears.
-- $1 what
select pg_notify('hourhand', $1::text) as said
