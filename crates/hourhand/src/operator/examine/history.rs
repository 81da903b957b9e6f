//! How large history is, and whether anybody prunes it.

use hourhand_core::protocol::Trouble;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::types::Type;

use super::{Finding, Severity, literal};
use crate::error::Error;
use crate::operator::Operator;
use crate::operator::standing::Standing;
use crate::pg::Param;
use crate::pg::row::{get, instant};

/// Nodes prune once an hour; what is this much past its retention has been left.
const LEFT_AFTER: SignedDuration = SignedDuration::from_hours(24);
/// Rows that one statement removes at most.
const ROWS_MAX: i64 = 10_000;
/// A history of this size is worth a word, pruned or not.
const BYTES_MAX: i64 = 4 << 30;

impl Operator {
    pub(super) async fn history_findings(&self) -> Result<Vec<Finding>, Error> {
        let failed = |trouble: Trouble| self.failed("examine", trouble);
        let standings = self.standings("examine", None).await?;
        let rows = self.read("examine", &self.statements.history_age, &[]).await?;
        let mut findings = Vec::new();
        let mut size = (0, 0);
        for row in &rows {
            let name: String = get(row, "name").map_err(failed)?;
            let (oldest, now) = (instant(row, "oldest").map_err(failed)?, instant(row, "now").map_err(failed)?);
            size = (get(row, "rows").map_err(failed)?, get(row, "bytes").map_err(failed)?);
            let retention = standings.iter().find(|seen| seen.name == name).and_then(Standing::retention);
            let left = retention.filter(|retention| now.duration_since(oldest) > *retention + LEFT_AFTER);
            findings.extend(left.map(|retention| self.unpruned(&name, oldest, retention, size)));
        }
        findings.extend(too_large(size));
        Ok(findings)
    }

    fn unpruned(&self, job: &str, oldest: Timestamp, retention: SignedDuration, (rows, bytes): (i64, i64)) -> Finding {
        let (schema, name, kept) = (&self.schema, literal(job), retention.as_secs());
        let delete = format!(
            "delete from \"{schema}\".history where id in (select h.id from \"{schema}\".history h where h.job = {name} \
             and h.ended_at < now() - interval '{kept} s' and h.id < (select max(n.id) from \"{schema}\".history n \
             where n.job = {name} and n.epoch is not null) order by h.id limit {ROWS_MAX})"
        );
        let message = format!(
            "history of {job} reaches back to {oldest:.0}, past its retention of {} days (in all about {rows} rows, {} MiB)",
            kept / 86_400,
            bytes >> 20
        );
        Finding::new("history", Severity::Warning, message)
            .why("nodes that have the job remove what is older, a batch an hour; none has, or they cannot keep up")
            .remedy("let a node with the job run, or remove it now (again while rows are removed; `hourhand doctor --fix` does)")
            .sql([delete])
            .job(job)
    }

    /// Removes what is past its retention, of all jobs, in batches; how many rows.
    pub(super) async fn prune(&self) -> Result<usize, Error> {
        let standings = self.standings("fix", None).await?;
        let known = standings.iter().filter_map(|seen| Some((seen.name.as_str(), seen.retention()?.as_secs_f64())));
        let (names, retentions): (Vec<&str>, Vec<f64>) = known.unzip();
        let params: [Param<'_>; 3] =
            [(&names, Type::TEXT_ARRAY), (&retentions, Type::FLOAT8_ARRAY), (&ROWS_MAX, Type::INT8)];
        let mut removed = 0;
        loop {
            let batch = self.write("fix", &self.statements.prune, &params).await?.len();
            removed += batch;
            if batch == 0 {
                return Ok(removed);
            }
        }
    }
}

fn too_large((rows, bytes): (i64, i64)) -> Option<Finding> {
    (bytes > BYTES_MAX).then(|| {
        let message = format!("history takes {} MiB (about {rows} rows)", bytes >> 20);
        Finding::new("history", Severity::Info, message)
            .why("nothing that decides reads it, so runs are not slower; backups and this command are")
            .remedy("shorten the retention of jobs that run often, or have them say less")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_of_gigabytes_is_worth_a_word() {
        assert!(too_large((10, BYTES_MAX)).is_none());
        let found = too_large((5_000_000, 5 << 30)).expect("a finding");
        assert!(found.message.contains("5120 MiB") && found.severity == Severity::Info);
    }
}
