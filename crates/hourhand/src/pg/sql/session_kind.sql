-- What a session is, for target_session_attrs. A standby's transactions are read only too, whatever its settings say.
select pg_catalog.pg_is_in_recovery() as standby,
       pg_catalog.current_setting('transaction_read_only') = 'on' as read_only
