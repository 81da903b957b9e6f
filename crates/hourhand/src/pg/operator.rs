//! The statements of people and tools: what they see, and what they do.

use super::sql::Schema;

/// All of them, made once for a schema.
#[derive(Debug)]
pub(crate) struct OperatorStatements {
    pub(crate) status: String,
    pub(crate) history: String,
    pub(crate) audit: String,
    pub(crate) job_names: String,
    pub(crate) pause: String,
    pub(crate) resume: String,
    pub(crate) cancel: String,
    pub(crate) request: String,
    pub(crate) request_state: String,
    pub(crate) take_back: String,
    pub(crate) open_requests: String,
    pub(crate) window: String,
    pub(crate) holder: String,
    pub(crate) evict: String,
    pub(crate) forget: String,
    pub(crate) forget_history: String,
    pub(crate) locks: String,
    /// Where our schema is not there, or not ours to read.
    pub(crate) locks_of_strangers: String,
    pub(crate) server: String,
    pub(crate) rights: String,
    pub(crate) schema_version: String,
    pub(crate) history_age: String,
    pub(crate) prune: String,
    pub(crate) settle_lost: String,
    pub(crate) end_former: String,
}

impl OperatorStatements {
    pub(crate) fn of(schema: &Schema) -> OperatorStatements {
        let put = |statement: &str| schema.put_into(statement);
        let locks = |ours: &str| include_str!("sql/locks.sql").replace("{ours}", ours);
        OperatorStatements {
            status: put(include_str!("sql/status.sql")),
            history: put(include_str!("sql/history.sql")),
            audit: put(include_str!("sql/audit.sql")),
            job_names: put(include_str!("sql/job_names.sql")),
            pause: put(include_str!("sql/pause.sql")),
            resume: put(include_str!("sql/resume.sql")),
            cancel: put(include_str!("sql/cancel.sql")),
            request: put(include_str!("sql/request.sql")),
            request_state: put(include_str!("sql/request_state.sql")),
            take_back: put(include_str!("sql/take_back.sql")),
            open_requests: put(include_str!("sql/open_requests.sql")),
            window: put(include_str!("sql/window.sql")),
            holder: put(include_str!("sql/holder.sql")),
            evict: put(include_str!("sql/evict.sql")),
            forget: put(include_str!("sql/forget.sql")),
            forget_history: put(include_str!("sql/forget_history.sql")),
            locks: put(&locks(include_str!("sql/locks_ours.sql"))),
            locks_of_strangers: locks(include_str!("sql/locks_strangers.sql")),
            server: include_str!("sql/server.sql").to_owned(),
            rights: include_str!("sql/rights.sql").to_owned(),
            schema_version: put(include_str!("sql/schema_version.sql")),
            history_age: put(include_str!("sql/history_age.sql")),
            prune: put(include_str!("sql/prune.sql")),
            settle_lost: put(include_str!("sql/settle_lost.sql")),
            end_former: include_str!("sql/end_former.sql").to_owned(),
        }
    }

    /// Every statement, for the test that prepares them.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<&str> {
        let all = [
            &self.status,
            &self.history,
            &self.audit,
            &self.job_names,
            &self.pause,
            &self.resume,
            &self.cancel,
            &self.request,
            &self.request_state,
            &self.take_back,
            &self.open_requests,
            &self.window,
            &self.holder,
            &self.evict,
            &self.forget,
            &self.forget_history,
            &self.locks,
            &self.locks_of_strangers,
            &self.server,
            &self.rights,
            &self.schema_version,
            &self.history_age,
            &self.settle_lost,
        ];
        all.into_iter().map(String::as_str).collect()
    }
}
