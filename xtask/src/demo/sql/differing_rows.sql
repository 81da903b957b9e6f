-- How many orders differ between the copy and the feed's truth, $1: missing, left over, or unlike in any field. All columns
-- are compared, whatever they are, but for the two that are this service's own; each order of the truth is read as a row
-- first, so that one instant written in two ways is no difference. A field that has no column is one, of every order.
with truth as (
  select told.outside_id as id, to_jsonb(told) - 'id' - 'deleted_at' as fields,
    (e - 'id') - (select array_agg(c.key) from jsonb_object_keys(to_jsonb(told)) as c (key)) <> '{}' as unread
  from jsonb_array_elements($1::text::jsonb) as e,
    jsonb_populate_record(null::orders, (e - 'id') || jsonb_build_object('outside_id', e -> 'id')) as told
),
copy as (
  select o.outside_id as id, to_jsonb(o) - 'id' - 'deleted_at' as fields from orders o where o.deleted_at is null
)
select count(*) from truth t full join copy c using (id)
where t.fields is distinct from c.fields or t.unread
