//! Settings that would hurt a run, if a session of hourhand's did not set its own.

use hourhand_core::protocol::Trouble;
use tokio_postgres::Row;

use super::{Finding, Severity, quoted};
use crate::pg::Schema;
use crate::pg::row::get;

/// What is looked at.
pub(super) const NAMES: [&str; 8] = [
    "default_transaction_isolation",
    "default_transaction_read_only",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "lock_timeout",
    "statement_timeout",
    "synchronous_commit",
    "transaction_timeout",
];

/// What a new session begins with, and where that comes from.
#[derive(Debug)]
pub(super) struct Setting {
    name: String,
    value: String,
    unit: String,
    of_role: bool,
    of_database: bool,
}

pub(super) fn read(row: &Row) -> Result<Vec<Setting>, Trouble> {
    let texts = |column| get::<Option<Vec<Option<String>>>>(row, column).map(Option::unwrap_or_default);
    let flags = |column| get::<Option<Vec<bool>>>(row, column).map(Option::unwrap_or_default);
    let (names, values, units) = (texts("names")?, texts("settings")?, texts("units")?);
    let (roles, databases) = (flags("roles")?, flags("databases")?);
    let text = |from: &[Option<String>], at: usize| from.get(at).cloned().flatten().unwrap_or_default();
    let flag = |from: &[bool], at: usize| from.get(at).copied().unwrap_or(false);
    let setting = |at| Setting {
        name: text(&names, at),
        value: text(&values, at),
        unit: text(&units, at),
        of_role: flag(&roles, at),
        of_database: flag(&databases, at),
    };
    Ok((0..names.len()).map(setting).collect())
}

/// The ones that would hurt. That a session of hourhand's takes its own is tried by opening one.
pub(super) fn findings(settings: &[Setting], role: &str, database: &str, schema: &Schema) -> Vec<Finding> {
    let hurting = settings.iter().filter_map(|setting| Some((setting, setting.harm()?)));
    let finding = |(setting, harm): (&Setting, &str)| {
        let Setting { name, value, unit, .. } = setting;
        let (place, reset) = setting.place(role, database);
        let why = format!("it would {harm}; sessions of hourhand's (schema {schema}) set their own instead");
        Finding::new(
            "time_outs",
            Severity::Info,
            format!("{name} = {value}{unit}, set for {place}: overridden by hourhand"),
        )
        .why(why)
        .remedy("nothing needs to be done; who wants to be rid of it resets it")
        .sql(reset)
    };
    hurting.map(finding).collect()
}

impl Setting {
    /// What it would do to a session that holds locks while a body runs; none: nothing.
    fn harm(&self) -> Option<&'static str> {
        let some = self.value.parse::<i64>().is_ok_and(|value| value > 0);
        match self.name.as_str() {
            "idle_session_timeout" if some => Some("end the session of a run that takes longer, and free its lock"),
            "idle_in_transaction_session_timeout" | "transaction_timeout" if some => {
                Some("end a session in the middle of a statement's transaction")
            }
            "statement_timeout" | "lock_timeout" if some => {
                Some("cut statements at another time than the protocol counts on")
            }
            "synchronous_commit" if matches!(self.value.as_str(), "off" | "local") => {
                Some("let a recorded success be lost by a crash, and the occurrence run again")
            }
            "default_transaction_read_only" if self.value == "on" => Some("refuse every start"),
            "default_transaction_isolation" if self.value != "read committed" => {
                Some("have statements fail that wait for a row (40001)")
            }
            _ => None,
        }
    }

    /// Where it is set, and the statements that reset it there.
    fn place(&self, role: &str, database: &str) -> (String, Vec<String>) {
        let (name, of_role, of_database) = (&self.name, quoted(role), quoted(database));
        match (self.of_role, self.of_database) {
            (true, true) => (
                format!("role {role} in database {database}"),
                vec![format!("alter role {of_role} in database {of_database} reset {name}")],
            ),
            (true, false) => (format!("role {role}"), vec![format!("alter role {of_role} reset {name}")]),
            (false, true) => {
                (format!("database {database}"), vec![format!("alter database {of_database} reset {name}")])
            }
            (false, false) => (
                "the whole server".to_owned(),
                vec![format!("alter system reset {name}"), "select pg_reload_conf()".to_owned()],
            ),
        }
    }
}
