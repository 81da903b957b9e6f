//! Seeing who is in a job's way, and ending who has gone silent.

use std::time::Duration;

use hourhand_core::protocol::{Answer, Obstacle, Slot, Trouble};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::ask::Param;
use super::catalog::Catalog;
use super::row::get;
use super::session::Session;
use super::sql;

impl Session {
    pub(super) async fn maintain(&self, catalog: &Catalog, slots: &[Slot]) -> Result<Answer, Trouble> {
        let groups = catalog.groups(slots);
        let mut keys = catalog.keys(slots);
        keys.extend(groups.iter().flatten());
        keys.sort_unstable();
        keys.dedup();
        let foreign = self.evict_foreign_idle_after.map(|length| length.as_secs_f64());
        let rows = self.rows(sql::MAINTAIN, &[(&keys, Type::INT8_ARRAY), (&foreign, Type::FLOAT8)]).await?;
        let seen = rows.iter().map(|row| {
            let key: i64 = get(row, "key")?;
            let of_key = |slot: &Slot| {
                let entry = catalog.entry(*slot);
                entry.key().0 == key || entry.group().is_some_and(|group| group.0 == key)
            };
            let obstacle = obstacle(row)?;
            Ok(slots.iter().copied().filter(of_key).map(|slot| (slot, obstacle.clone())).collect())
        });
        let seen: Vec<Vec<(Slot, Obstacle)>> = seen.collect::<Result<_, Trouble>>()?;
        Ok(Answer::Obstacles(seen.into_iter().flatten().collect()))
    }

    pub(super) async fn unblock(&self, catalog: &Catalog, slot: Slot) -> Result<Answer, Trouble> {
        let evict_after = self.ttl.as_secs_f64() * 1.25;
        let name = &catalog.entry(slot).name();
        let params: [Param<'_>; 2] = [(name, Type::TEXT), (&evict_after, Type::FLOAT8)];
        let rows = self.rows(&self.statements.unblock, &params).await?;
        Ok(Answer::Blocker(rows.first().map(obstacle).transpose()?))
    }
}

fn obstacle(row: &Row) -> Result<Obstacle, Trouble> {
    let silent: Option<f64> = get(row, "silent")?;
    Ok(Obstacle {
        pid: get(row, "pid")?,
        application: get(row, "application")?,
        client: get(row, "client")?,
        silent: silent.map(|seconds| Duration::from_secs_f64(seconds.max(0.0))),
        ours: get(row, "ours")?,
        watch: get(row, "watch")?,
        evicted: get(row, "evicted")?,
        forbidden: get(row, "forbidden")?,
    })
}
