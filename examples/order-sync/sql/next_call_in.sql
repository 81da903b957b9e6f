-- Seconds until endpoint $1 may be called; 0: now. Measured where it is kept, so no two clocks meet.
select greatest(extract(epoch from next_call_at - clock_timestamp()), 0)::float8 from feed_pace where endpoint = $1
