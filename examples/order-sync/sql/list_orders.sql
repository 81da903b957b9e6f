-- Orders of the local copy by status $1, customer $2 and search $3 (null: any), newest first; $4 of them from $5.
-- The search looks for its text as it is, but for upper and lower case as far as the database's locale knows them:
-- strpos knows no wildcards that would have to be escaped. The fields are joined by a line feed, which a search can't
-- contain, so no hit spans two of them.
with hits as (
    select
        outside_id as id, customer, status, placed_at, updated_at,
        ship_name, ship_address, ship_city, ship_country, items, total_cents
    from orders
    where deleted_at is null
        and ($1::text is null or status = $1)
        and ($2::text is null or customer = $2)
        and ($3::text is null or strpos(
            lower(concat_ws(E'\n', outside_id, customer, ship_name, ship_address, ship_city, ship_country)),
            lower($3)
        ) > 0)
),
page as (
    select * from hits order by placed_at desc, id limit $4 offset $5
)
select
    (select count(*) from hits) as total,
    (select coalesce(jsonb_agg(page order by placed_at desc, id), '[]') from page) as orders
