//! `hourhand locks`: every advisory lock of the database, of any application.
//!
//! PostgreSQL keeps a number for a lock, and nothing else; what it was made of is gone. So a name is shown only where its key
//! comes out the same: hourhand's own jobs, tools whose keys are known, words that were guessed. None is better than a wrong one: on
//! it somebody would end a session.

use std::time::Duration;

use clap::Args;
use hourhand::{AdvisoryLock, Operator};
use jiff::{SignedDuration, Timestamp};

use crate::globals::Globals;
use crate::length;
use crate::operator::with_operator;
use crate::output::when::{civil, here, length_in_words};
use crate::output::{BAD, Cell, FAINT, GOOD, ODD, Output, STRONG, Table};
use crate::refusal::Refusal;
use hourhand_core::plain::block;

const EXAMPLES: &str = "\
Examples:
  hourhand locks
  # looks again each second, until Ctrl-C
  hourhand locks --watch
  # a key of these?
  hourhand locks --name nightly-report --name cleanup
  hourhand locks --json | jq '.[] | select(.idle_seconds > 60)'

Names are known of hourhand's own jobs and of many tools (Rails, Prisma, Flyway, golang-migrate, sqlx and others). A guessed \
name is tried in the ways in which keys are usually made of words (hourhand's own, hashtext, CRC-32, md5 and others).";

/// A stranger's session that has been idle with a lock for so many seconds may have forgotten it.
const ODDLY_IDLE: f64 = 60.0;

/// Every advisory lock of the database, of any application: whose it is, who has it, what to think of it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Locks {
    /// Look again, until Ctrl-C; with --json one value a line, whenever something has changed.
    #[arg(long, short)]
    watch: bool,

    /// With --watch: look this often.
    #[arg(long, value_name = "LENGTH", default_value = "1s", requires = "watch", value_parser = pace)]
    every: Duration,

    /// A word of which a key may have been made; may be repeated.
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
}

/// How often to look: neither a load nor asleep.
fn pace(text: &str) -> Result<Duration, String> {
    let pace = length::some(text)?;
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&pace) {
        Ok(pace)
    } else {
        Err("from \"100ms\" to \"1h\" is possible".to_owned())
    }
}

impl Locks {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        with_operator(globals, async |operator| {
            if self.watch {
                return self.watch(operator, &names, output).await;
            }
            let locks = operator.locks(&names).await?;
            Ok(output.either(&locks, |output| show(output, &locks))?)
        })
    }

    async fn watch(&self, operator: &Operator, names: &[&str], output: &Output) -> Result<(), Refusal> {
        let mut ticks = tokio::time::interval(self.every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut last, mut away) = (None, false);
        loop {
            ticks.tick().await;
            if !output.is_read() {
                return Ok(());
            }
            let locks = match operator.locks(names).await {
                Ok(locks) => locks,
                // Who watches a restart wants to see what comes after it.
                Err(error) if error.is_unreachable() => {
                    if !std::mem::replace(&mut away, true) {
                        output.remark(format_args!("{BAD}away:{BAD:#} {}; looking again", block(&error.to_string())));
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            away = false;
            let picture = locks.iter().map(lasting).collect::<Vec<_>>();
            let changed = last.as_ref() != Some(&picture);
            if output.is_json() {
                if changed {
                    output.json(&locks)?;
                }
            } else if output.is_screen() {
                output.clear()?;
                heading(output)?;
                show(output, &locks)?;
            } else if changed {
                heading(output)?;
                show(output, &locks)?;
            }
            last = Some(picture);
        }
    }
}

/// What of a lock changes only when something has happened.
fn lasting(lock: &AdvisoryLock) -> (i64, i16, Option<i32>, String, bool, bool) {
    (lock.key, lock.objsubid, lock.pid, lock.mode.clone(), lock.granted, lock.is_trouble())
}

fn heading(output: &Output) -> std::io::Result<()> {
    let now = Timestamp::now();
    output.line(format_args!("{FAINT}advisory locks at {}, until Ctrl-C{FAINT:#}", civil(now, &here())))
}

fn show(output: &Output, locks: &[AdvisoryLock]) -> std::io::Result<()> {
    if locks.is_empty() {
        return output.line(format_args!("{FAINT}nobody holds an advisory lock in this database{FAINT:#}"));
    }
    output.table(&table(locks))
}

fn table(locks: &[AdvisoryLock]) -> Table {
    // Where there is little room, what stands behind a `?` is left out first, the last of them first.
    let mut table = Table::new(&[
        "name",
        "verdict",
        ">pid",
        "state",
        "?application",
        "?>key",
        "?mode",
        "?client",
        "?>classid,objid",
        "?last query",
    ]);
    for lock in locks {
        let mode = lock.mode.trim_end_matches("Lock").to_lowercase();
        table.row([
            lock.name.as_deref().map_or_else(|| Cell::styled("unknown", FAINT), |name| Cell::styled(name, STRONG)),
            verdict(lock),
            Cell::maybe(lock.pid.map(|pid| pid.to_string())),
            Cell::maybe(state(lock)),
            Cell::maybe(lock.application.as_deref().filter(|application| !application.is_empty())),
            Cell::new(lock.key.to_string()),
            Cell::new(if lock.granted { mode } else { format!("{mode}, waits") }),
            Cell::maybe(lock.client.as_deref()),
            Cell::new(format!("{},{}", lock.classid, lock.objid)),
            Cell::maybe(lock.query.as_deref().map(|query| query.split_whitespace().collect::<Vec<_>>().join(" "))),
        ]);
    }
    table
}

/// The verdict in its colour: what stops a job is red, what waits or may be left behind yellow.
fn verdict(lock: &AdvisoryLock) -> Cell {
    let style = if lock.is_trouble() {
        BAD
    } else if !lock.granted || (!lock.ours && lock.idle_seconds.is_some_and(|seconds| seconds > ODDLY_IDLE)) {
        ODD
    } else if lock.ours {
        GOOD
    } else {
        anstyle::Style::new()
    };
    Cell::styled(&lock.verdict, style)
}

fn state(lock: &AdvisoryLock) -> Option<String> {
    let state = lock.state.as_deref()?;
    let idle = lock.idle_seconds.and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok());
    Some(idle.map_or_else(|| state.to_owned(), |idle| format!("{state} {}", length_in_words(idle))))
}
