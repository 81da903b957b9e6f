//! The statements behind pages that people look at, again and again: each reads about as many rows as it shows.

use super::sql::Schema;

/// All of them, made once for a schema.
#[derive(Debug)]
pub(crate) struct PageStatements {
    pub(crate) recent: String,
    pub(crate) neighbours: String,
    pub(crate) count_history: String,
    pub(crate) open_run: String,
    pub(crate) sessions: String,
    pub(crate) heard: String,
}

impl PageStatements {
    pub(crate) fn of(schema: &Schema) -> PageStatements {
        let put = |statement: &str| schema.put_into(statement);
        PageStatements {
            recent: put(include_str!("sql/recent.sql")),
            neighbours: put(include_str!("sql/neighbours.sql")),
            count_history: put(include_str!("sql/count_history.sql")),
            open_run: put(include_str!("sql/open_run.sql")),
            sessions: put(include_str!("sql/sessions.sql")),
            heard: put(include_str!("sql/heard.sql")),
        }
    }

    /// Every statement, for the test that prepares them.
    #[cfg(test)]
    pub(super) fn all(&self) -> [&str; 6] {
        [&self.recent, &self.neighbours, &self.count_history, &self.open_run, &self.sessions, &self.heard]
    }
}
