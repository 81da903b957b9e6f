//! Making and upgrading the schema: our own list, one transaction, under an advisory lock that is tried, not waited for.
//!
//! `create … if not exists` is no help between replicas that boot together: it fails on the unique indexes of the catalog. So
//! the version is read and the list applied under the lock of the key `hourhand`, a name that no job may bear.

use hourhand_core::key::Key;
use hourhand_core::protocol::{Answer, Trouble};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::row::get;
use super::sql::Schema;
use super::trouble::trouble;

/// Every migration, oldest first. Forward only and additive: an old node works on a newer schema.
const MIGRATIONS: [(i32, &str, &str); 1] =
    [(1, "create_protocol", include_str!("sql/migrations/0001_create_protocol.sql"))];

/// The version that this program needs.
pub(crate) const NEWEST: i32 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Which of them are applied.
const VERSIONS: &str = "create table {schema}.migration (version int primary key, name text not null, \
                        applied_at timestamptz not null default clock_timestamp())";

/// Brings the schema up to date, or finds that another session is at it.
pub(crate) async fn migrate(client: &Client, schema: &Schema) -> Result<Answer, Trouble> {
    Ok(match upgrade(client, schema).await? {
        Some(_) => Answer::Migrated,
        None => Answer::MigrationBusy,
    })
}

/// The same; the answer is the version that was there, 0 for none. None: another session is at it.
pub(crate) async fn upgrade(client: &Client, schema: &Schema) -> Result<Option<i32>, Trouble> {
    run(client, "begin isolation level read committed read write; set local statement_timeout = '55s'").await?;
    match under_lock(client, schema).await {
        Ok(found) => {
            run(client, "commit").await?;
            Ok(found)
        }
        Err(refused) => {
            // The session may be gone; then so is the transaction.
            let _ = run(client, "rollback").await;
            Err(refused)
        }
    }
}

async fn under_lock(client: &Client, schema: &Schema) -> Result<Option<i32>, Trouble> {
    let tried = client.query_typed(include_str!("sql/try_migration.sql"), &[(&Key::MIGRATION.0, Type::INT8)]).await;
    let rows = tried.map_err(|error| trouble(&error))?;
    let granted = rows.first().map(|row| get::<bool>(row, "granted")).transpose()?;
    if granted != Some(true) {
        return Ok(None);
    }
    let version = version(client, schema).await?;
    for (number, name, text) in MIGRATIONS.iter().filter(|(number, ..)| *number > version) {
        if *number == 1 {
            found(client, schema).await?;
        }
        run(client, &schema.put_into(text)).await?;
        let note = schema.put_into("insert into {schema}.migration (version, name) values ($1, $2)");
        let noted = client.execute_typed(&note, &[(number, Type::INT4), (name, Type::TEXT)]).await;
        noted.map_err(|error| trouble(&error))?;
    }
    Ok(Some(version))
}

/// The version of the schema that is there; 0: none.
async fn version(client: &Client, schema: &Schema) -> Result<i32, Trouble> {
    let table = schema.put_into("{schema}.migration");
    let there = client.query_typed("select to_regclass($1) is not null as there", &[(&table, Type::TEXT)]).await;
    let there = there.map_err(|error| trouble(&error))?;
    if !there.first().map(|row| get::<bool>(row, "there")).transpose()?.unwrap_or(false) {
        return Ok(0);
    }
    let newest = schema.put_into("select coalesce(max(version), 0) as version from {schema}.migration");
    let rows = client.query_typed(&newest, &[]).await.map_err(|error| trouble(&error))?;
    rows.first().map(|row| get(row, "version")).transpose().map(|version| version.unwrap_or(0))
}

/// The schema itself, unless somebody made it for us: making one needs CREATE on the database even if it is there.
async fn found(client: &Client, schema: &Schema) -> Result<(), Trouble> {
    let name = schema.as_str();
    let there = client
        .query_typed("select exists (select from pg_namespace n where n.nspname = $1) as there", &[(&name, Type::TEXT)])
        .await
        .map_err(|error| trouble(&error))?;
    if !there.first().map(|row| get::<bool>(row, "there")).transpose()?.unwrap_or(false) {
        run(client, &schema.put_into("create schema {schema}")).await?;
    }
    run(client, &schema.put_into(VERSIONS)).await
}

/// Gives a role what it needs to run jobs and do nothing else. False: there is no such role.
pub(crate) async fn grant(client: &Client, schema: &Schema, role: &str) -> Result<bool, Trouble> {
    let known = "select exists (select from pg_roles r where r.rolname = $1) as there";
    let known = client.query_typed(known, &[(&role, Type::TEXT)]).await.map_err(|error| trouble(&error))?;
    if !known.first().map(|row| get::<bool>(row, "there")).transpose()?.unwrap_or(false) {
        return Ok(false);
    }
    run(client, &granting(schema, &quoted(role))).await?;
    Ok(true)
}

/// The same as one text for psql, for those who let nobody but a person change a schema: the migrations later than a version,
/// in one transaction that gives up while another migrates.
///
/// With a role it ends with what this role needs to run jobs and do nothing else.
pub(crate) fn printed(schema: &Schema, after: i32, role: Option<&str>) -> String {
    let key = Key::MIGRATION.0;
    let mut text = format!(
        "begin;\n\n\
         do $$ begin\n  if not pg_try_advisory_xact_lock({key}) then\n    \
         raise exception 'another session is migrating: try again';\n  end if;\nend $$;\n\n"
    );
    if after < 1 {
        text += &schema.put_into(&format!("create schema if not exists {{schema}};\n\n{VERSIONS};\n\n"));
    }
    for (number, name, statements) in MIGRATIONS.iter().filter(|(number, ..)| *number > after) {
        let statements = statements.trim_end();
        text += &schema.put_into(&format!(
            "{statements}\n\ninsert into {{schema}}.migration (version, name) values ({number}, '{name}');\n\n"
        ));
    }
    if let Some(role) = role {
        text += &granting(schema, &quoted(role));
        text.push('\n');
    }
    text + "commit;\n"
}

/// The grants for a role that runs jobs, one after another; the role's name is quoted.
pub(crate) fn grants(schema: &Schema, role: &str) -> Vec<String> {
    let text = granting(schema, role);
    let code = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    let code: Vec<&str> = code.collect();
    code.join("\n").split(';').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
}

fn quoted(role: &str) -> String {
    format!("\"{}\"", role.replace('"', "\"\""))
}

fn granting(schema: &Schema, role: &str) -> String {
    schema.put_into(include_str!("sql/grants.sql")).replace("{role}", role)
}

async fn run(client: &Client, statements: &str) -> Result<(), Trouble> {
    client.batch_execute(statements).await.map_err(|error| trouble(&error))
}
