//! `hourhand history`: what was. Ended runs and skips, one run whole, who did what.
//!
//! Nothing that decides is derived from history, so it may be pruned, truncated or be gone: then there is less to show here, and nothing
//! else is different. What runs now is not in it (see `status`); a run gets here by ending.

use clap::Args;
use hourhand::{AuditEntry, AuditQuery, HistoryEntry, HistoryQuery, Operator};
use jiff::Timestamp;

use super::status::outcome;
use crate::globals::{Globals, at_least_one};
use crate::operator::with_operator;
use crate::output::when::{civil, here, length_in_words, near_and_civil, read_back};
use crate::output::{BAD, Cell, FAINT, Output, STRONG, Table};
use crate::refusal::Refusal;
use hourhand_core::outcome::IN_HISTORY;
use hourhand_core::plain::{block, inline};

const EXAMPLES: &str = "\
Examples:
  hourhand history order-sync --limit 5
  hourhand history --outcome failed --since 24h
  # one run whole, with its output
  hourhand history order-sync --epoch 1796053749007507
  # who paused, cancelled, triggered what
  hourhand history --audit
  hourhand history --json | jq -r '.[] | [.job, .outcome] | @tsv'";

/// The library gives pages of at most so many.
const PAGE: usize = 1000;

/// What was: ended runs and skipped occurrences, newest first; one run whole; who did what.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct History {
    /// Of this job only.
    #[arg(value_name = "NAME")]
    job: Option<String>,

    /// How many at most.
    #[arg(long, short = 'n', value_name = "N", default_value = "20", value_parser = at_least_one)]
    limit: usize,

    /// With this outcome only.
    #[arg(long, value_name = "OUTCOME", value_parser = IN_HISTORY)]
    outcome: Option<String>,

    /// Ended at or after this instant: 2026-12-01, 2h (ago).
    #[arg(long, value_name = "T")]
    since: Option<String>,

    /// This run of the job whole, with its output.
    #[arg(long, value_name = "E", requires = "job", conflicts_with_all = ["limit", "outcome", "since"])]
    epoch: Option<i64>,

    /// Who did what: pauses, cancels, triggers, evictions and so on.
    #[arg(long, conflicts_with_all = ["outcome", "since", "epoch"])]
    audit: bool,
}

impl History {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let now = Timestamp::now();
        if self.audit {
            let acts = with_operator(globals, async |operator| self.acts(operator).await)?;
            return Ok(output.either(&acts, |output| match acts.as_slice() {
                [] => {
                    output.remark("nobody has done anything by hand");
                    Ok(())
                }
                acts => output.table(&audit(acts, now)),
            })?);
        }
        let since = self.since.as_deref().map(|since| read_back(since, &here(), now)).transpose();
        let since = since.map_err(|error| Refusal::wrong(format!("--since: {error}")))?;
        let entries = with_operator(globals, async |operator| self.entries(operator, since).await)?;
        if let (Some(epoch), []) = (self.epoch, entries.as_slice()) {
            let job = self.job.as_deref().unwrap_or_default();
            return Err(Refusal::failed(format!(
                "no ended run {epoch} of job {job:?} in history: it may still run (hourhand status), or be older than the retention"
            )));
        }
        Ok(output.either(&entries, |output| match (self.epoch, entries.as_slice()) {
            (Some(_), [entry]) => whole(output, entry, now),
            (_, []) => {
                output.remark("nothing of the kind in history");
                Ok(())
            }
            (_, _) => output.table(&table(&entries, now)),
        })?)
    }

    async fn entries(&self, operator: &Operator, since: Option<Timestamp>) -> Result<Vec<HistoryEntry>, Refusal> {
        let mut query = HistoryQuery {
            job: self.job.clone(),
            outcome: self.outcome.clone(),
            since,
            epoch: self.epoch,
            ..HistoryQuery::default()
        };
        let mut entries: Vec<HistoryEntry> = Vec::new();
        while entries.len() < self.limit {
            let wanted = (self.limit - entries.len()).min(PAGE);
            query.limit = u32::try_from(wanted).ok();
            let page = operator.history(&query).await?;
            let full = page.len() == wanted;
            query.before = page.last().map(|oldest| oldest.id);
            entries.extend(page);
            if !full {
                break;
            }
        }
        Ok(entries)
    }

    async fn acts(&self, operator: &Operator) -> Result<Vec<AuditEntry>, Refusal> {
        let mut query = AuditQuery { job: self.job.clone(), ..AuditQuery::default() };
        let mut acts: Vec<AuditEntry> = Vec::new();
        while acts.len() < self.limit {
            let wanted = (self.limit - acts.len()).min(PAGE);
            query.limit = u32::try_from(wanted).ok();
            let page = operator.audit(&query).await?;
            let full = page.len() == wanted;
            query.before = page.last().map(|oldest| oldest.id);
            acts.extend(page);
            if !full {
                break;
            }
        }
        Ok(acts)
    }
}

fn table(entries: &[HistoryEntry], now: Timestamp) -> Table {
    let mut table = Table::new(&["ended", "job", "outcome", "trigger", ">took", ">epoch", "node", "error"]);
    for entry in entries {
        let count = entry.count.filter(|_| entry.outcome == "skipped").map(|count| format!(" ×{count}"));
        let told = entry.error.as_deref().or(entry.reason.as_deref());
        let attempt = entry.attempt.filter(|attempt| *attempt > 1).map(|attempt| format!(" #{attempt}"));
        table.row([
            near_and_civil(entry.ended_at, now).into(),
            Cell::styled(&entry.job, STRONG),
            outcome(&format!("{}{}", entry.outcome, count.unwrap_or_default())),
            Cell::maybe(entry.trigger.as_ref().map(|trigger| format!("{trigger}{}", attempt.unwrap_or_default()))),
            Cell::maybe(took(entry)),
            Cell::maybe(entry.epoch.map(|epoch| epoch.to_string())),
            Cell::maybe(entry.node.as_deref()),
            Cell::maybe(told.map(|told| told.lines().next().unwrap_or_default())),
        ]);
    }
    table
}

fn took(entry: &HistoryEntry) -> Option<String> {
    entry.duration().map(length_in_words)
}

/// Everything that is known of one run.
fn whole(output: &Output, entry: &HistoryEntry, now: Timestamp) -> std::io::Result<()> {
    let epoch = entry.epoch.unwrap_or_default();
    output.line(format_args!("{STRONG}{}{STRONG:#} run {epoch}", inline(&entry.job)))?;
    let mut facts = Table::new(&["", ""]);
    let mut fact = |name: &str, cell: Cell| facts.row([Cell::styled(name, FAINT), cell]);
    let attempt = entry.attempt.map(|attempt| format!(", attempt {attempt}")).unwrap_or_default();
    let takeover = entry.takeover.filter(|died| *died > 0).map(|died| format!(", taken over {died}×"));
    let trigger = entry.trigger.as_deref().unwrap_or("-");
    fact("outcome", outcome(&entry.outcome));
    fact("trigger", Cell::new(format!("{trigger}{attempt}{}", takeover.unwrap_or_default())));
    fact("scheduled for", Cell::maybe(entry.scheduled_for.map(|at| near_and_civil(at, now))));
    fact("started", Cell::maybe(entry.started_at.map(|at| near_and_civil(at, now))));
    let ended = if entry.end_seen { "ended" } else { "noticed" };
    fact(ended, Cell::new(near_and_civil(entry.ended_at, now)));
    fact("took", Cell::maybe(took(entry)));
    let window =
        entry.window.map(|window| format!("{} to {}", civil(window.from, &here()), civil(window.until, &here())));
    fact("window", Cell::maybe(window));
    fact("node", Cell::maybe(entry.node.as_deref()));
    fact("recorded by", Cell::maybe(entry.recorded_by.as_deref()));
    output.table(&facts)?;
    if let Some(error) = &entry.error {
        output.line(format_args!("{BAD}error{BAD:#}\n{}", block(error)))?;
    }
    match &entry.output {
        Some(written) => output.line(format_args!("{FAINT}output{FAINT:#}\n{}", block(written.trim_end()))),
        None => Ok(()),
    }
}

/// A particular as people read it: instants in their zone.
fn word(value: &serde_json::Value) -> String {
    let Some(text) = value.as_str() else { return value.to_string() };
    text.parse().map_or_else(|_| text.to_owned(), |at: Timestamp| civil(at, &here()))
}

fn audit(acts: &[AuditEntry], now: Timestamp) -> Table {
    let mut table = Table::new(&["when", "who", "did", "job", "particulars"]);
    for act in acts {
        let detail = act.detail.as_object().map(|detail| {
            let told = detail.iter().filter(|(_, value)| !value.is_null());
            told.map(|(name, value)| format!("{} {}", name.replace('_', " "), word(value)))
                .collect::<Vec<_>>()
                .join(", ")
        });
        table.row([
            near_and_civil(act.at, now).into(),
            Cell::maybe(act.actor.as_deref()),
            Cell::styled(&act.action, STRONG),
            Cell::maybe(act.job.as_deref()),
            Cell::maybe(detail.filter(|detail| !detail.is_empty())),
        ]);
    }
    table
}
