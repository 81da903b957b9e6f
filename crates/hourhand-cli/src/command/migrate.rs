//! `hourhand migrate`: makes or upgrades the schema.

use std::io::Write as _;

use clap::Args;
use serde::Serialize;

use crate::globals::Globals;
use crate::output::{GOOD, Output};
use crate::refusal::Refusal;
use crate::runtime::block_on;

const EXAMPLES: &str = "\
Examples:
  # with a role that may create the schema, or owns it
  hourhand migrate
  # for a person to read, and to run with psql
  hourhand migrate --print --grant-to app > hourhand.sql
  # only what is later than version 1
  hourhand migrate --print --after 1 | psql";

/// Makes or upgrades hourhand's schema. May be run by many at once: one does it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Migrate {
    /// Only print the SQL; needs no database.
    #[arg(long)]
    print: bool,

    /// With --print: end with what this role needs to run jobs, and nothing more.
    #[arg(long, value_name = "ROLE", requires = "print")]
    grant_to: Option<String>,

    /// With --print: only what is later than this version (select max(version) from hourhand.migration).
    #[arg(long, value_name = "VERSION", requires = "print", default_value_t = 0)]
    after: i32,
}

#[derive(Serialize)]
struct Migrated<'a> {
    schema: &'a str,
    /// The versions before (0: there was none) and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<&'a str>,
}

fn refused(error: hourhand::Error) -> Refusal {
    if error.is_forbidden() {
        let text = format!(
            "{error}\nit takes a role that may create the schema, or owns it; `hourhand migrate --print` prints the SQL for somebody who may"
        );
        return Refusal::failed(text);
    }
    error.into()
}

impl Migrate {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let schema = globals.schema();
        if self.print {
            let sql = hourhand::migration_sql(schema, self.after, self.grant_to.as_deref())?;
            let shown = Migrated { schema, from: None, to: None, sql: Some(&sql) };
            return Ok(output.either(&shown, |_| std::io::stdout().write_all(sql.as_bytes()))?);
        }
        let url = globals.database_url()?;
        let hourhand::Migrated { from, to, .. } =
            block_on(async { hourhand::migrate(&url, schema).await.map_err(refused) })?;
        let done = match from {
            0 => format!("{GOOD}made{GOOD:#} schema {schema}, version {to}"),
            _ if from < to => format!("{GOOD}upgraded{GOOD:#} schema {schema} from version {from} to {to}"),
            _ => format!("schema {schema} is there already, version {to}: nothing to do"),
        };
        Ok(output
            .either(&Migrated { schema, from: Some(from), to: Some(to), sql: None }, |output| output.line(done))?)
    }
}
