-- Leave endpoint $1 alone for $2 seconds from now. Not now(): that is when the transaction began.
update feed_pace set next_call_at = clock_timestamp() + make_interval(secs => $2) where endpoint = $1
