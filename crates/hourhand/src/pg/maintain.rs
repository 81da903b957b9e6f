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
        let keys = catalog.keys(slots);
        let foreign = self.evict_foreign_idle_after.map(|length| length.as_secs_f64());
        let rows = self.rows(sql::MAINTAIN, &[(&keys, Type::INT8_ARRAY), (&foreign, Type::FLOAT8)]).await?;
        let seen = rows.iter().map(|row| {
            let key: i64 = get(row, "key")?;
            let slot = keys.iter().position(|asked| *asked == key).map(|at| slots[at]);
            Ok(slot.zip(Some(obstacle(row)?)))
        });
        Ok(Answer::Obstacles(seen.collect::<Result<Vec<_>, Trouble>>()?.into_iter().flatten().collect()))
    }

    pub(super) async fn unblock(&self, catalog: &Catalog, slot: Slot) -> Result<Answer, Trouble> {
        let evict_after = self.ttl.as_secs_f64() * 1.25;
        let name = &catalog.entry(slot).name;
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
