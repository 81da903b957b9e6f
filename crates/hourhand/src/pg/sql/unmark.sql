-- Takes our mark off the backend that answers, if it is the one that carries it: behind a pooler it would stay on a stranger's
-- connection.
-- $1 mark
select case when current_setting('hourhand.session', true) = $1::text
  then set_config('hourhand.session', '', false) = '' else false end as unmarked
