//! Orders of people, and the housekeeping of history.

use hourhand_core::protocol::{Answer, Order, Ordered, Slot, Trouble};
use jiff::Timestamp;
use tokio_postgres::types::Type;

use super::ask::Param;
use super::catalog::Catalog;
use super::row::{by_name, get};
use super::session::Session;
use super::tstz::Tstz;

/// Rows of one job that one statement removes at most: it is over well within its time.
const PRUNE_ROWS_MAX: i64 = 1000;

impl Session {
    pub(super) async fn order(&self, catalog: &Catalog, slot: Slot, order: &Order) -> Result<Answer, Trouble> {
        let name = &catalog.entry(slot).name();
        let ordered = match order {
            Order::Pause { until, reason, actor } => {
                let until = until.map(Tstz);
                let params: [Param<'_>; 4] =
                    [(name, Type::TEXT), (&until, Type::TIMESTAMPTZ), (reason, Type::TEXT), (actor, Type::TEXT)];
                let rows = self.rows(&self.statements.pause, &params).await?;
                match rows.first() {
                    Some(row) if get(row, "paused")? => {
                        let (open, epoch): (bool, i64) = (get(row, "open")?, get(row, "epoch")?);
                        Ordered::Paused { running: open.then_some(epoch) }
                    }
                    Some(_) => Ordered::PauseOver,
                    None => Ordered::Nothing,
                }
            }
            Order::Resume { catch_up, actor } => {
                let params: [Param<'_>; 3] = [(name, Type::TEXT), (catch_up, Type::BOOL), (actor, Type::TEXT)];
                let rows = self.rows(&self.statements.resume, &params).await?;
                if rows.is_empty() { Ordered::Nothing } else { Ordered::Resumed }
            }
            Order::Cancel { epoch, actor } => {
                let params: [Param<'_>; 3] = [(name, Type::TEXT), (epoch, Type::INT8), (actor, Type::TEXT)];
                let rows = self.rows(&self.statements.cancel, &params).await?;
                match rows.first() {
                    Some(row) if get(row, "running")? => Ordered::Cancelling(get(row, "epoch")?),
                    Some(row) if get::<i64>(row, "withdrawn")? > 0 => Ordered::Withdrawn,
                    Some(_) | None => Ordered::Nothing,
                }
            }
            Order::Close { request } => {
                self.rows(&self.statements.close_request, &[(request, Type::INT8)]).await?;
                Ordered::Nothing
            }
            Order::Backfill { from, until, runs, actor } => {
                let (kind, never) = ("backfill", None::<f64>);
                let params: [Param<'_>; 6] = [
                    (name, Type::TEXT),
                    (&kind, Type::TEXT),
                    (actor, Type::TEXT),
                    (&never, Type::FLOAT8),
                    (&Tstz(*from), Type::TIMESTAMPTZ),
                    (&Tstz(*until), Type::TIMESTAMPTZ),
                ];
                let rows = self.rows(&self.statements.request, &params).await?;
                if rows.is_empty() { Ordered::Nothing } else { Ordered::Backfilling(*runs) }
            }
        };
        Ok(Answer::Ordered(ordered))
    }

    /// Takes note of occurrences that wait too long.
    pub(super) async fn late(&self, catalog: &Catalog, late: &[(Slot, Timestamp)]) -> Result<Answer, Trouble> {
        let names: Vec<&str> = late.iter().map(|(slot, _)| catalog.entry(*slot).name()).collect();
        let occurrences: Vec<Tstz> = late.iter().map(|(_, occurrence)| Tstz(*occurrence)).collect();
        let params: [Param<'_>; 2] = [(&names, Type::TEXT_ARRAY), (&occurrences, Type::TIMESTAMPTZ_ARRAY)];
        let first = by_name(self.rows(&self.statements.late, &params).await?)?;
        Ok(Answer::Late(names.iter().map(|name| first.contains_key(*name)).collect()))
    }

    /// Takes note that somebody has these jobs.
    pub(super) async fn known(&self, catalog: &Catalog, slots: &[Slot]) -> Result<Answer, Trouble> {
        self.rows(&self.statements.known, &[(&catalog.names(slots), Type::TEXT_ARRAY)]).await?;
        Ok(Answer::Known)
    }

    /// Removes a batch of old history.
    pub(super) async fn prune(&self, catalog: &Catalog) -> Result<Answer, Trouble> {
        let names: Vec<&str> = catalog.all().map(|entry| entry.name()).collect();
        let retentions: Vec<f64> = catalog.all().map(|entry| entry.retention_seconds()).collect();
        let params: [Param<'_>; 3] =
            [(&names, Type::TEXT_ARRAY), (&retentions, Type::FLOAT8_ARRAY), (&PRUNE_ROWS_MAX, Type::INT8)];
        let rows = self.rows(&self.statements.prune, &params).await?;
        Ok(Answer::Pruned(rows.len()))
    }
}
