-- Counts the orders whose stored updated_at ever went back: a trigger of the demo, that the service knows nothing of.
-- With the definer's rights, as the service has none in this schema.
create schema demo;

create table demo.lost_update (outside_id text primary key);

create function demo.note_lost_update() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into demo.lost_update values (old.outside_id) on conflict do nothing;
  return null;
end $$;

create trigger note_lost_update after update on public.orders
  for each row when (new.updated_at < old.updated_at) execute function demo.note_lost_update();
