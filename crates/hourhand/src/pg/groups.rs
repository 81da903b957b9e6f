//! Locks of jobs that have a group.

use std::collections::HashMap;

use hourhand_core::protocol::{Answer, Slot, Trouble};
use tokio_postgres::types::Type;

use super::ask::Param;
use super::catalog::Catalog;
use super::row::get;
use super::session::Session;

impl Session {
    /// Both locks of a job, or neither. Jobs without a group may be among them.
    pub(super) async fn try_grouped(&self, catalog: &Catalog, slots: &[Slot]) -> Result<Answer, Trouble> {
        let (keys, groups) = (catalog.keys(slots), catalog.groups(slots));
        let evict_after = self.ttl.as_secs_f64() * 1.25;
        let params: [Param<'_>; 4] = [
            (&keys, Type::INT8_ARRAY),
            (&groups, Type::INT8_ARRAY),
            (&self.mark, Type::TEXT),
            (&evict_after, Type::FLOAT8),
        ];
        let rows = self.rows(&self.statements.try_grouped, &params).await?;
        let granted = rows.iter().map(|row| Ok((get(row, "key")?, get(row, "granted")?)));
        let granted: HashMap<i64, Option<bool>> = granted.collect::<Result<_, Trouble>>()?;
        Ok(Answer::Tried(keys.iter().map(|key| granted.get(key).copied().unwrap_or(Some(false))).collect()))
    }
}
