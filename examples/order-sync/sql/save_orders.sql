-- One page, $1, in one statement.
-- The conflict is with the *partial* unique index, so its predicate is repeated; a row that was removed here is no
-- conflict. The last WHERE lets what arrives late never overwrite what is newer. An id that stands on a page twice would
-- be an error ("cannot affect row a second time"), so the newer of the two is taken. Sorted by id: rows are locked in
-- one order.
insert into orders (
    outside_id, customer, status, placed_at, updated_at,
    ship_name, ship_address, ship_city, ship_country, items, total_cents
)
select distinct on (id)
    id, customer, status, placed_at, updated_at, ship_name, ship_address, ship_city, ship_country, items, total_cents
from jsonb_to_recordset($1) as page (
    id text, customer text, status text, placed_at timestamptz, updated_at timestamptz,
    ship_name text, ship_address text, ship_city text, ship_country text, items integer, total_cents bigint
)
order by id, updated_at desc
on conflict (outside_id) where deleted_at is null do update set
    customer = excluded.customer,
    status = excluded.status,
    placed_at = excluded.placed_at,
    updated_at = excluded.updated_at,
    ship_name = excluded.ship_name,
    ship_address = excluded.ship_address,
    ship_city = excluded.ship_city,
    ship_country = excluded.ship_country,
    items = excluded.items,
    total_cents = excluded.total_cents
where excluded.updated_at >= orders.updated_at
