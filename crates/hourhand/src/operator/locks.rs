//! Every advisory lock of the database, named as far as anybody can.

use hourhand_core::key::Key;
use hourhand_core::locks::guess::way;
use hourhand_core::locks::known::known;
use hourhand_core::locks::{OpenRun, Session, Subject, Verdict, judge, key_of};
use hourhand_core::name::JobName;
use hourhand_core::protocol::{Trouble, TroubleKind};
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Operator;
use crate::error::Error;
use crate::pg::Param;
use crate::pg::row::{get, instant_or_none};

/// An advisory lock of the database, held or waited for, by whatever application.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AdvisoryLock {
    /// Its key as one bigint; of a lock in the two-integer form, both halves together.
    pub key: i64,
    /// The upper half, as `pg_locks` shows it.
    pub classid: u32,
    /// The lower half, as `pg_locks` shows it.
    pub objid: u32,
    /// Its form: 1 for one bigint, 2 for two integers, anything else for an extension's own.
    pub objsubid: i16,
    /// What it is called, where anybody knows: a job, a watch, a group, a tool, a guess.
    pub name: Option<String>,
    /// Its key is one of hourhand's, or a session of hourhand's has it.
    pub ours: bool,
    /// `ExclusiveLock` or `ShareLock`.
    pub mode: String,
    /// Held; otherwise somebody waits for it.
    pub granted: bool,
    /// The process id of the session; none for a prepared transaction.
    pub pid: Option<i32>,
    /// What the session calls itself.
    pub application: Option<String>,
    /// Its role, where visible.
    pub role: Option<String>,
    /// Where it comes from, where visible; none for a Unix socket.
    pub client: Option<String>,
    /// `active`, `idle`, `idle in transaction`, …, where visible.
    pub state: Option<String>,
    /// For how long it has been idle, in seconds; none if it is not, or not visible.
    pub idle_seconds: Option<f64>,
    /// Its newest statement, where visible, cut at 500 characters.
    pub query: Option<String>,
    /// What to think of it, in plain words.
    pub verdict: String,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) subject: Subject,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) judged: Verdict,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) backend_start: Option<Timestamp>,
}

impl AdvisoryLock {
    /// It keeps a job of hourhand's from running, or will: the one kind of lock that a person has to do something about.
    #[must_use]
    pub fn is_trouble(&self) -> bool {
        matches!(self.judged, Verdict::ForNothing | Verdict::Silent(..) | Verdict::Foreign(_))
    }
}

/// Names that a statement leaves in the session of a tool whose keys are hashes of rows.
const BY_STATEMENT: [(&str, &str); 2] = [("good_job", "GoodJob"), ("que_jobs", "Que")];

impl Operator {
    /// Every advisory lock of this database, of any application: whose it is, who has it, and what to think of it; by one
    /// statement. `names` are guesses: whatever a key may have been made of. Needs no schema of hourhand's.
    ///
    /// # Errors
    ///
    /// [`Error::is_unreachable`] when the database could not be asked.
    pub async fn locks(&self, names: &[&str]) -> Result<Vec<AdvisoryLock>, Error> {
        let params: [Param<'_>; 1] = [(&names, Type::TEXT_ARRAY)];
        let rows = match self.line.read(&self.statements.locks, &params, self.within).await {
            Err(trouble) if matches!(trouble.kind, TroubleKind::NotMigrated | TroubleKind::Forbidden) => {
                self.line.read(&self.statements.locks_of_strangers, &params, self.within).await
            }
            rows => rows,
        };
        let failed = |trouble| self.failed("locks", trouble);
        let read = |row: &Row| self.lock(row, names);
        rows.map_err(failed)?.iter().map(read).collect::<Result<_, Trouble>>().map_err(failed)
    }

    fn lock(&self, row: &Row, names: &[&str]) -> Result<AdvisoryLock, Trouble> {
        let half = |column| Ok::<u32, Trouble>(u32::try_from(get::<i64>(row, column)?).unwrap_or(u32::MAX));
        let (classid, objid, objsubid) = (half("classid")?, half("objid")?, get(row, "objsubid")?);
        let (key, pair) = key_of(classid, objid, objsubid);
        let session = session(row)?;
        let query = get::<Option<String>>(row, "query")?.map(|query| without_comment(&query).to_owned());
        let subject = match pair {
            None => Subject::Extension,
            Some(pair) => {
                self.subject(row, key, pair)?.or_else(|| by_guess(names, key, pair, self)).unwrap_or_else(|| {
                    let said = query.as_deref().unwrap_or_default();
                    let tool = BY_STATEMENT.iter().find(|(word, _)| said.contains(word));
                    tool.map_or(Subject::Unknown, |(_, tool)| Subject::Tool(format!("{tool} (by its statement)")))
                })
            }
        };
        let granted: bool = get(row, "granted")?;
        let waits_for = get::<Option<Vec<i32>>>(row, "waits_for")?.filter(|_| !granted);
        let judged = judge(&subject, &session, open_run(row)?.as_ref(), waits_for);
        let idle = session.state.as_deref().is_some_and(|state| state.starts_with("idle"));
        Ok(AdvisoryLock {
            key: key.value(),
            classid,
            objid,
            objsubid,
            name: (subject != Subject::Unknown).then(|| subject.to_string()),
            ours: subject.is_ours() || session.ttl().is_some(),
            mode: get(row, "mode")?,
            granted,
            pid: session.pid,
            application: get(row, "application")?,
            role: get(row, "role")?,
            client: get(row, "client")?,
            idle_seconds: session.in_state.filter(|_| idle),
            state: session.state,
            query,
            verdict: judged.to_string(),
            subject,
            judged,
            backend_start: instant_or_none(row, "backend_start")?,
        })
    }

    /// What is known of a key without a guess.
    fn subject(&self, row: &Row, key: Key, pair: bool) -> Result<Option<Subject>, Trouble> {
        if let Some(job) = get::<Option<String>>(row, "job")? {
            return Ok(Some(if pair { Subject::Watch(job) } else { Subject::Job(job) }));
        }
        if pair {
            return Ok(None);
        }
        if key == Key::MIGRATION {
            return Ok(Some(Subject::Migration));
        }
        let groups: Option<Vec<String>> = get(row, "groups")?;
        let is_group = |name: &String| {
            JobName::parse(name).is_ok_and(|group| Key::of_group(self.namespace.as_ref(), &group) == key)
        };
        if let Some(group) = groups.into_iter().flatten().find(is_group) {
            return Ok(Some(Subject::Group(group)));
        }
        let database: String = get(row, "database")?;
        if let Some(tool) = known(key, &database) {
            return Ok(Some(Subject::Tool(tool.name.to_owned())));
        }
        if let Some(tool) = get::<Option<String>>(row, "tool")? {
            return Ok(Some(Subject::Tool(tool)));
        }
        let guessed = get::<Option<String>>(row, "guessed")?.zip(get(row, "way")?);
        Ok(guessed.map(|(name, way)| Subject::Guessed(name, way)))
    }
}

/// A statement without the comment that it begins with: ours begin with why they are so, and what it does is of more use to a person.
fn without_comment(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    while let Some(comment) = rest.strip_prefix("--") {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    // One that was cut within its comment has nothing else to show.
    if rest.is_empty() { statement } else { rest }
}

fn by_guess(names: &[&str], key: Key, pair: bool, operator: &Operator) -> Option<Subject> {
    let of = |name: &str| way(name, key, pair, operator.namespace.as_ref()).map(str::to_owned);
    names.iter().find_map(|name| Some(Subject::Guessed((*name).to_owned(), of(name)?)))
}

fn session(row: &Row) -> Result<Session, Trouble> {
    Ok(Session {
        pid: get(row, "pid")?,
        application: get::<Option<String>>(row, "application")?.unwrap_or_default(),
        state: get(row, "state")?,
        silent: get(row, "silent")?,
        in_state: get(row, "in_state")?,
    })
}

fn open_run(row: &Row) -> Result<Option<OpenRun>, Trouble> {
    if get::<Option<bool>>(row, "open")? != Some(true) {
        return Ok(None);
    }
    let node: Option<String> = get(row, "node")?;
    let (epoch, pid) = (get(row, "epoch")?, get(row, "run_pid")?);
    Ok(Some(OpenRun { epoch, node: node.unwrap_or_default(), pid }))
}

#[cfg(test)]
mod tests {
    use super::without_comment;

    #[test]
    fn a_statement_is_shown_from_where_it_does_something() {
        assert_eq!(without_comment("-- Why.\n-- More.\n  select 1 -- one"), "select 1 -- one");
        assert_eq!(without_comment("select 1"), "select 1");
        assert_eq!(without_comment("-- cut within its com"), "-- cut within its com");
    }
}
