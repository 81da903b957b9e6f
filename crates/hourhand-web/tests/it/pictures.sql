-- Some days in the life of seven jobs.
update hourhand.definition d set body = jsonb_build_object('schedule', s.schedule, 'time_zone', s.zone) || s.more,
  registered_at = now() - interval '20 days', counts_from = now() - interval '20 days'
from (values
  ('order-sync', '@hourly', 'UTC', '{"lookback": 600, "timeout": 1200, "retry": {"attempts": 3, "backoff": 30}}'::jsonb),
  ('price-import', '*/30 * * * *', 'UTC', '{"lookback": 300, "retry": {"attempts": 3, "backoff": 60}}'),
  ('invoice-mails', '0 7 * * MON-FRI', 'Europe/Berlin', '{"completes": true}'),
  ('reindex-search', '30 2 * * *', 'Asia/Seoul', '{"timeout": 7200}'),
  ('purge-carts', 'every 15m', 'UTC', '{}'),
  ('exchange-rates', '5 * * * *', 'UTC', '{}'),
  ('nightly-report', '@daily', 'America/New_York', '{}')) s(name, schedule, zone, more)
where d.job = s.name;

insert into hourhand.history (job, epoch, trigger, scheduled_for, started_at, ended_at, outcome, attempt, takeover, node, error, output,
  window_from, window_until, recorded_by)
select s.name, extract(epoch from t)::bigint * 1000000 + abs(hashtext(s.name)) % 1000, 'schedule', t, t + interval '0.2 s',
  t + interval '0.2 s' + s.takes * (0.6 + 0.8 * r.x),
  case when r.x > s.good then (array['failed', 'failed', 'timed_out', 'lost', 'cancelled'])[1 + (r.x * 1000)::int % 5] else 'succeeded' end,
  1, 0, 'web-' || 1 + (r.x * 100)::int % 4,
  case when r.x > s.good then E'GET /v2/prices?page=7: 503 Service Unavailable\nThe feed asks for rest: try again in 40 s' end,
  E'page 1: 200 prices\npage 2: 200 prices\npage 3: 131 prices\n531 prices written', t - s.step - interval '5 min', t, 'web-' || 1 + (r.x * 100)::int % 4
from (values
  ('order-sync', interval '1 h', interval '95 s', 0.985), ('price-import', interval '30 min', interval '42 s', 0.93),
  ('invoice-mails', interval '24 h', interval '12 s', 0.99), ('reindex-search', interval '24 h', interval '31 min', 0.9),
  ('purge-carts', interval '15 min', interval '0.8 s', 0.99), ('exchange-rates', interval '1 h', interval '1.7 s', 1.0),
  ('nightly-report', interval '24 h', interval '4 min', 0.99)) s(name, step, takes, good)
cross join lateral generate_series(date_trunc('day', now() - interval '9 days'), now() - interval '20 min', s.step) t
cross join lateral (select (abs(hashtext(s.name || t::text)) % 1000) / 1000.0 as x) r
order by t;

insert into hourhand.history (job, scheduled_for, outcome, reason, count, node)
values ('price-import', date_trunc('hour', now()) - interval '3 h', 'skipped', 'overlap', 2, 'web-1'),
  ('price-import', date_trunc('hour', now()) - interval '9 h', 'skipped', 'paused', 5, 'web-2');
insert into hourhand.history (job, epoch, trigger, scheduled_for, started_at, ended_at, outcome, attempt, takeover, node, error, output, recorded_by)
values ('price-import', extract(epoch from now())::bigint * 1000000 - 9, 'retry', date_trunc('hour', now()), now() - interval '3 min',
  now() - interval '2 min', 'failed', 2, 0, 'web-3',
  E'GET /v2/prices?page=7: 503 Service Unavailable\nThe feed asks for rest: try again in 40 s', E'page 1: 200 prices\npage 2: 200 prices', 'web-3');

update hourhand.job j set last_success_at = h.at, handled_until = case when j.name = 'exchange-rates' then h.at else now() end,
  covered_until = now() - interval '20 min'
from (select job, max(ended_at) filter (where outcome = 'succeeded') as at from hourhand.history group by job) h
where h.job = j.name and j.name <> 'order-sync';
update hourhand.job set last_success_at = now() - interval '20 min', handled_until = now() where name = 'order-sync';
update hourhand.job set last_outcome = case name when 'price-import' then 'failed' else 'succeeded' end where name <> 'order-sync';
update hourhand.job set handled_until = now() - interval '3 h', last_success_at = now() - interval '3 h' where name = 'exchange-rates';
delete from hourhand.history where job = 'exchange-rates' and ended_at > now() - interval '3 h';
insert into hourhand.pause (job, active, until, reason, actor)
values ('invoice-mails', true, now() + interval '5 h', 'the mail provider is moved', 'ann');
insert into hourhand.audit (actor, action, job, detail) values ('ann', 'pause', 'invoice-mails', '{"reason": "the mail provider is moved"}');
update hourhand.job j set epoch = h.epoch, ended_epoch = h.epoch, started_at = h.at
from (select job, max(epoch) as epoch, max(started_at) as at from hourhand.history group by job) h
where h.job = j.name and j.name <> 'order-sync';
