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
  hourhand migrate                                            with a role that may create the schema, or owns it
  hourhand migrate --print --grant-to app > hourhand.sql      for a person to read, and to run with psql
  hourhand migrate --print --after 1 | psql                   only what is later than version 1";

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
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<&'a str>,
}

impl Migrate {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let schema = globals.schema.as_str();
        if self.print {
            let sql = hourhand::migration_sql(schema, self.after, self.grant_to.as_deref())?;
            let shown = Migrated { schema, sql: Some(&sql) };
            return Ok(output.either(&shown, |_| std::io::stdout().write_all(sql.as_bytes()))?);
        }
        let url = globals.database_url()?;
        block_on(async { Ok(hourhand::migrate(&url, schema).await?) })?;
        let done = format!("{GOOD}schema {schema} is up to date{GOOD:#}");
        Ok(output.either(&Migrated { schema, sql: None }, |output| output.line(done))?)
    }
}
