//! `hourhand doctor`: what is wrong, why it matters, and what to do about it, word for word.
//!
//! It looks as a scheduler would, over the same way and with the same role: what a superuser can see or do says nothing about
//! the service. `--fix` does what no person could regret (sessions of frozen nodes, history past its
//! retention) and looks again afterwards; all else is told with the statement that mends it.

use std::process::ExitCode;

use clap::Args;
use hourhand::{Finding, Fixed, Severity};
use serde::Serialize;

use crate::globals::Globals;
use crate::operator::with_operator;
use crate::output::{BAD, FAINT, GOOD, ODD, Output, STRONG};
use crate::refusal::Refusal;
use hourhand_core::plain::block;

const EXAMPLES: &str = "\
Examples:
  hourhand doctor
  hourhand doctor --fix   first does what is safe, and says what it did
  hourhand doctor --json | jq -r '.findings[].message'

Run it with the role and the connection string of your service: it tries the very session that a scheduler needs. Exit status \
1: one of the findings is an error.";

/// Finds what is wrong with server, session, schema, locks and jobs, and says what to do about it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// First do what is safe: end the sessions of frozen nodes, remove history past its retention.
    #[arg(long)]
    fix: bool,
}

#[derive(Serialize)]
struct Examined<'a> {
    ok: bool,
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<&'a [Fixed]>,
}

impl Doctor {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<ExitCode, Refusal> {
        let (fixed, findings) = with_operator(globals, async |operator| {
            let fixed = if self.fix { Some(operator.fix().await?) } else { None };
            Ok((fixed, operator.examine().await?))
        })?;
        let ok = findings.iter().all(|finding| finding.severity != Severity::Error);
        output.either(&Examined { ok, findings: &findings, fixed: fixed.as_deref() }, |output| {
            for done in fixed.iter().flatten() {
                output.line(format_args!("{GOOD}fixed{GOOD:#}    {}", block(&done.message)))?;
            }
            if fixed.as_ref().is_some_and(Vec::is_empty) {
                output.line(format_args!("{FAINT}nothing to fix that is safe to fix{FAINT:#}"))?;
            }
            findings.iter().try_for_each(|finding| show(output, finding))?;
            output.line(summary(&findings))
        })?;
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn show(output: &Output, finding: &Finding) -> std::io::Result<()> {
    let style = match finding.severity {
        Severity::Error => BAD,
        Severity::Warning => ODD,
        Severity::Info => FAINT,
    };
    let (word, id) = (finding.severity.as_str(), finding.id);
    output.line(format_args!(
        "{style}{word:<8}{style:#} {STRONG}{}{STRONG:#} {FAINT}[{id}]{FAINT:#}",
        told(&finding.message)
    ))?;
    if !finding.why.is_empty() {
        output.line(format_args!("         {FAINT}why{FAINT:#} {}", told(&finding.why)))?;
    }
    if !finding.remedy.is_empty() {
        output.line(format_args!("         {FAINT}do{FAINT:#}  {}", told(&finding.remedy)))?;
    }
    finding.sql.iter().try_for_each(|statement| output.line(format_args!("             {}", told(statement))))
}

/// With the lines of a text one below the other.
fn told(text: &str) -> String {
    block(text).replace('\n', "\n             ")
}

fn summary(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let many = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => format!("{GOOD}all is well{GOOD:#}"),
        (0, warnings) => format!("{GOOD}jobs can run{GOOD:#}; {}", many(warnings, "warning")),
        (errors, warnings) => format!("{BAD}{}{BAD:#}, {}", many(errors, "error"), many(warnings, "warning")),
    }
}
