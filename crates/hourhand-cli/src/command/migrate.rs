//! `hourhand migrate`: makes or upgrades the schema.
//!
//! All versions that are missing are made in one transaction under one lock, so replicas that start together may all call it. A
//! service's own role need not be able to: `--print` gives the same SQL to whoever may, and an older version of the service goes on
//! working on a newer schema, so it can be made before the deploy.

use std::io::Write as _;

use clap::Args;
use hourhand_core::plain::inline;
use serde::Serialize;

use crate::globals::Globals;
use crate::output::{GOOD, Output};
use crate::refusal::Refusal;
use crate::runtime::block_on;

const EXAMPLES: &str = "\
Examples:
  hourhand migrate                      as a role that may create the schema
  hourhand migrate --grant-to app       and gives the role app what it needs
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

    /// Then give this role what it needs to run jobs, and nothing more.
    #[arg(long, value_name = "ROLE")]
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
    granted_to: Option<&'a str>,
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
            let shown = Migrated { schema, from: None, to: None, granted_to: None, sql: Some(&sql) };
            return Ok(output.either(&shown, |_| std::io::stdout().write_all(sql.as_bytes()))?);
        }
        let url = globals.database_url()?;
        let role = self.grant_to.as_deref();
        let hourhand::Migrated { from, to, .. } = block_on(async {
            let migrated = hourhand::migrate(&url, schema).await.map_err(refused)?;
            if let Some(role) = role {
                hourhand::grant(&url, schema, role).await.map_err(refused)?;
            }
            Ok(migrated)
        })?;
        let done = match from {
            0 => format!("{GOOD}made{GOOD:#} schema {schema}, version {to}"),
            _ if from < to => format!("{GOOD}upgraded{GOOD:#} schema {schema} from version {from} to {to}"),
            _ => format!("schema {schema} is there already, version {to}: nothing to do"),
        };
        let shown = Migrated { schema, from: Some(from), to: Some(to), granted_to: role, sql: None };
        Ok(output.either(&shown, |output| {
            output.line(done)?;
            match role {
                Some(role) => output.line(format_args!("role {} may run jobs", inline(role))),
                None => Ok(()),
            }
        })?)
    }
}
