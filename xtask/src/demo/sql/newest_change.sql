-- When the newest change of the feed's truth, $1, was made.
select max((e ->> 'updated_at')::timestamptz) from jsonb_array_elements($1::text::jsonb) as e
