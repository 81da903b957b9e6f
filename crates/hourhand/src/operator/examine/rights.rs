//! What this role may do with the schema, and how far that is migrated.

use hourhand_core::protocol::Trouble;
use tokio_postgres::types::Type;

use super::{Finding, Severity, quoted};
use crate::error::Error;
use crate::operator::Operator;
use crate::pg::migrate::{NEWEST, grants};
use crate::pg::row::get;
use crate::pg::{Param, Schema};

/// What was found, and whether jobs and history can be read at all.
pub(super) struct Rights {
    pub(super) findings: Vec<Finding>,
    pub(super) readable: bool,
}

impl Operator {
    pub(super) async fn rights(&self, role: &str) -> Result<Rights, Error> {
        let failed = |trouble: Trouble| self.failed("examine", trouble);
        let params: [Param<'_>; 1] = [(&self.schema.as_str(), Type::TEXT)];
        let rows = self.read("examine", &self.statements.rights, &params).await?;
        let Some(row) = rows.first() else {
            return Ok(Rights { findings: vec![migrate_first(&self.schema, 0)], readable: false });
        };
        let usage: bool = get(row, "usage").map_err(failed)?;
        let lacking: Option<Vec<String>> = get(row, "lacking").map_err(failed)?;
        let owner: String = get(row, "owner").map_err(failed)?;
        let mut lacking = lacking.unwrap_or_default();
        if !usage {
            lacking.insert(0, format!("usage on schema {}", self.schema));
        }
        let mut findings = Vec::new();
        if !lacking.is_empty() {
            findings.push(forbidden(&self.schema, role, &lacking, &owner));
        }
        let readable = usage && !lacking.iter().any(|lack| lack.starts_with("select"));
        match self.line.read(&self.statements.schema_version, &[], self.within).await {
            Ok(rows) => {
                let version: i32 =
                    rows.first().map(|row| get(row, "version")).transpose().map_err(failed)?.unwrap_or(0);
                if version < NEWEST {
                    findings.push(migrate_first(&self.schema, version));
                }
                let newer = version > NEWEST;
                findings.extend(newer.then(|| newer_schema(&self.schema, version)));
                Ok(Rights { findings, readable: readable && version >= NEWEST })
            }
            Err(trouble) if Operator::is_about_schema(&trouble) => {
                if usage {
                    findings.push(migrate_first(&self.schema, 0));
                }
                Ok(Rights { findings, readable: false })
            }
            Err(trouble) => Err(failed(trouble)),
        }
    }
}

fn migrate_first(schema: &Schema, version: i32) -> Finding {
    let message = match version {
        0 => format!("the schema {schema} is not there"),
        version => format!("the schema {schema} is at version {version}, and this program needs {NEWEST}"),
    };
    Finding::new("schema_version", Severity::Error, message)
        .why("a scheduler makes or changes no schema unless it is told to: no job runs until it is there")
        .remedy(format!(
            "run `hourhand migrate --schema {schema}`, or print it for somebody who may (`hourhand migrate --print`)"
        ))
}

fn newer_schema(schema: &Schema, version: i32) -> Finding {
    let message = format!("the schema {schema} is at version {version}, newer than this program knows ({NEWEST})");
    Finding::new("schema_version", Severity::Info, message)
        .why("schemas only grow, so it works; what is new is not shown")
        .remedy("upgrade this program")
}

fn forbidden(schema: &Schema, role: &str, lacking: &[String], owner: &str) -> Finding {
    let shown: Vec<&str> = lacking.iter().map(String::as_str).take(6).collect();
    let more = lacking.len().saturating_sub(shown.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Finding::new("privileges", Severity::Error, format!("role {role} lacks {}{more}", shown.join(", ")))
        .why("a scheduler with this role could not run jobs, or not record how they ended")
        .remedy(format!("as {owner}, who owns the schema {schema}, grant what a role that runs jobs needs"))
        .sql(grants(schema, &quoted(role)))
}
