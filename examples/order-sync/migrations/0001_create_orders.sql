-- The local copy: what users read, and what the outside service said last.
create table orders (
    id bigint generated always as identity primary key,
    outside_id text not null,
    customer text not null,
    status text not null check (status in ('placed', 'paid', 'shipped', 'delivered', 'cancelled')),
    placed_at timestamptz not null,
    updated_at timestamptz not null,
    ship_name text not null,
    ship_address text not null,
    ship_city text not null,
    ship_country text not null,
    items integer not null,
    total_cents bigint not null,
    -- Set by whoever removes an order here: the row stays, and its outside id is free for a new one.
    deleted_at timestamptz
);

create unique index orders_outside_id on orders (outside_id) where deleted_at is null;

create index orders_placed on orders (placed_at desc, outside_id) where deleted_at is null;

-- When each endpoint of the outside service may be called next, whichever process calls it: a run in one process and
-- the next one in another keep one limit. By the database's clock, which they share.
create table feed_pace (
    endpoint text primary key,
    next_call_at timestamptz not null
);

insert into feed_pace (endpoint, next_call_at) values ('orders', now());
