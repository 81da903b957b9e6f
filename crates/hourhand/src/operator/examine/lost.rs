//! Runs that ended without a word.

use hourhand_core::protocol::Trouble;
use tokio_postgres::types::Type;

use super::{Finding, Severity};
use crate::error::Error;
use crate::operator::Operator;
use crate::operator::standing::Standing;
use crate::pg::Schema;
use crate::pg::row::get;

impl Operator {
    pub(super) async fn lost_findings(&self) -> Result<Vec<Finding>, Error> {
        let standings = self.standings("examine", None).await?;
        Ok(standings.iter().filter_map(|seen| lost(&self.schema, seen)).collect())
    }

    /// Puts them on record; what they were.
    pub(super) async fn settle_lost(&self) -> Result<Vec<String>, Error> {
        let standings = self.standings("fix", None).await?;
        let lost: Vec<i64> = standings.iter().filter_map(|seen| seen.facts.lost_run()).collect();
        if lost.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.write("fix", &self.statements.settle_lost, &[(&lost, Type::INT8_ARRAY)]).await?;
        let settled = rows.iter().map(|row| Ok((get::<i64>(row, "epoch")?, get::<String>(row, "name")?)));
        let settled = settled.collect::<Result<Vec<_>, Trouble>>().map_err(|trouble| self.failed("fix", trouble))?;
        Ok(settled.into_iter().map(|(epoch, job)| format!("recorded that run {epoch} of {job} is lost")).collect())
    }
}

/// Its process died, or lost its session; whoever would know has not said so yet.
fn lost(schema: &Schema, seen: &Standing) -> Option<Finding> {
    let (job, epoch) = (&seen.name, seen.facts.lost_run()?);
    let node = seen.facts.node.as_deref().unwrap_or("an unknown node");
    let since = seen.facts.started_at.map(|at| format!(" at {at:.0}")).unwrap_or_default();
    let message = format!("run {epoch} of {job}, started{since} by {node}, was lost, and that is not on record yet");
    Some(
        Finding::new("lost", Severity::Warning, message)
            .why("its process died without a word, or lost the database; what is due is taken over, what was asked for is not repeated")
            .remedy("a node records it by itself, soon after it next looks into the database; or now: hourhand doctor --fix")
            .sql([format!("select * from \"{schema}\".settle_lost(array[{epoch}])")])
            .job(job),
    )
}
