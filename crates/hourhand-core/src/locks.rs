//! What an advisory lock of the database is, whose, and what to think of it.
//!
//! `pg_locks` shows numbers. A key becomes a name by what is known: our jobs, their watches and groups, the migration; other tools by
//! [`known`]; a person's guesses by [`guess`]. What to think of a lock follows from what its key is and who holds it how: a lock
//! of ours that a stranger holds stops its job for ever, and nothing in the database says so but this.

pub mod guess;
pub mod hash;
pub mod known;

use std::fmt;

use crate::key::Key;

/// An idle session with a migration's lock has probably been left behind after so many seconds.
const LEFT_BEHIND_AFTER: f64 = 60.0;
/// Between lock and start lie milliseconds: a session that holds a job's lock for longer without a run holds it for nothing.
const HELD_FOR_NOTHING_AFTER: f64 = 2.0;

/// What a lock's key is.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// The lock of a job.
    Job(String),
    /// The watch of a job: who waits to take over.
    Watch(String),
    /// The lock of a group of jobs.
    Group(String),
    /// hourhand's migration.
    Migration,
    /// Another tool.
    Tool(String),
    /// A name that a person guessed, and how it leads to the key.
    Guessed(String, String),
    /// A form that only extensions of the server use.
    Extension,
    /// Nobody knows.
    Unknown,
}

/// The session that holds a lock or waits for it, as far as it is visible to the role that looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Its process id; none: a prepared transaction, which has no session.
    pub pid: Option<i32>,
    /// What it calls itself.
    pub application: String,
    /// `active`, `idle`, …; none: not visible.
    pub state: Option<String>,
    /// For how long it has begun no statement, in seconds.
    pub silent: Option<f64>,
    /// For how long it has been in its state, in seconds.
    pub in_state: Option<f64>,
}

/// The run that a job's row says to be under way.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRun {
    /// Its fencing token.
    pub epoch: i64,
    /// Its node.
    pub node: String,
    /// The backend that started it.
    pub pid: Option<i32>,
}

/// What to think of a lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A run is under way.
    Runs(OpenRun),
    /// Somebody stands by to take over.
    Watches,
    /// As it should be, for a moment.
    Passing(&'static str),
    /// A session of hourhand's holds a job's lock and runs nothing.
    ForNothing,
    /// A process of hourhand's is frozen or cut off: it has begun no statement for so long (s), with this ttl (s).
    Silent(f64, f64),
    /// A session that is not hourhand's holds a key of hourhand's.
    Foreign(String),
    /// It waits for these.
    Waits(Vec<i32>),
    /// A prepared transaction holds it.
    Prepared,
    /// Held, and idle for so long: probably left behind.
    LeftBehind(f64),
    /// Held by an open session.
    Held,
    /// Whose it is cannot be seen.
    Invisible,
}

impl Session {
    /// The ttl by which a session of hourhand's wants to be judged; none: it is not one of a node.
    #[must_use]
    pub fn ttl(&self) -> Option<f64> {
        let (digits, _) = self.application.strip_prefix("hourhand/")?.split_once(' ')?;
        digits.parse::<u32>().ok().map(f64::from)
    }
}

impl Subject {
    /// Whether the key is one of hourhand's.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        matches!(self, Subject::Job(_) | Subject::Watch(_) | Subject::Group(_) | Subject::Migration)
    }
}

/// What to think of a granted lock, or with `waits_for` of one that is waited for.
#[must_use]
pub fn judge(subject: &Subject, session: &Session, run: Option<&OpenRun>, waits_for: Option<Vec<i32>>) -> Verdict {
    if let Some(holders) = waits_for {
        return Verdict::Waits(holders);
    }
    let Some(pid) = session.pid else { return Verdict::Prepared };
    let runs = run.filter(|run| run.pid == Some(pid));
    let ttl = session.ttl();
    if let (true, Some(ttl), Some(silent)) = (subject.is_ours(), ttl, session.silent)
        && silent > 1.25 * ttl
    {
        return Verdict::Silent(silent, ttl);
    }
    match subject {
        // In any language, by `begin`.
        Subject::Job(_) if runs.is_some() => runs.cloned().map_or(Verdict::Held, Verdict::Runs),
        Subject::Job(_) | Subject::Group(_) | Subject::Watch(_) if ttl.is_none() && session.state.is_none() => {
            Verdict::Invisible
        }
        Subject::Job(_) | Subject::Group(_) | Subject::Watch(_) if ttl.is_none() => {
            Verdict::Foreign(session.application.clone())
        }
        Subject::Job(_) if session.in_state.is_some_and(|seconds| seconds > HELD_FOR_NOTHING_AFTER) => {
            Verdict::ForNothing
        }
        Subject::Job(_) => Verdict::Passing("a node decides whether to start a run"),
        Subject::Watch(_) => Verdict::Watches,
        Subject::Group(_) => Verdict::Passing("a job of the group is at it"),
        Subject::Migration => Verdict::Passing("a migration of hourhand's schema is under way"),
        Subject::Tool(_) | Subject::Guessed(..) | Subject::Extension | Subject::Unknown => others(session),
    }
}

/// The key of a lock from its halves, and whether it is in the two-integer form; none for a form of an extension's own.
#[must_use]
pub fn key_of(classid: u32, objid: u32, objsubid: i16) -> (Key, Option<bool>) {
    let pair = match objsubid {
        1 => Some(false),
        2 => Some(true),
        _ => None,
    };
    (Key::from_halves(classid, objid), pair)
}

fn others(session: &Session) -> Verdict {
    let idle = session.state.as_deref().is_some_and(|state| state.starts_with("idle"));
    match session.in_state {
        _ if session.state.is_none() => Verdict::Invisible,
        Some(seconds) if idle && seconds > LEFT_BEHIND_AFTER => Verdict::LeftBehind(seconds),
        Some(_) | None => Verdict::Held,
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Job(name) | Subject::Tool(name) => f.write_str(name),
            Subject::Watch(name) => write!(f, "watch of {name}"),
            Subject::Group(name) => write!(f, "group {name}"),
            Subject::Migration => f.write_str("hourhand migrate"),
            Subject::Guessed(name, way) => write!(f, "{name} ({way})"),
            Subject::Extension => f.write_str("an extension of the server"),
            Subject::Unknown => f.write_str("unknown"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Runs(run) => write!(f, "run {} is under way on {}", run.epoch, run.node),
            Verdict::Watches => f.write_str("stands by to take over"),
            Verdict::Passing(why) => f.write_str(why),
            Verdict::ForNothing => {
                f.write_str("a session of hourhand's holds it and runs nothing: the job cannot start elsewhere")
            }
            Verdict::Silent(silent, ttl) => {
                write!(
                    f,
                    "silent for {silent:.0} s at a ttl of {ttl:.0} s: its process is frozen or cut off, and may be evicted"
                )
            }
            Verdict::Foreign(application) => {
                let who = if application.is_empty() { "without a name" } else { application };
                write!(f, "held by a session that is not hourhand's ({who}): the job cannot run while it lasts")
            }
            Verdict::Waits(holders) if holders.is_empty() => f.write_str("waits"),
            Verdict::Waits(holders) => {
                let pids: Vec<String> = holders.iter().map(i32::to_string).collect();
                write!(f, "waits for {}: its snapshot holds up VACUUM meanwhile", pids.join(", "))
            }
            Verdict::Prepared => {
                f.write_str("held by a prepared transaction (pg_prepared_xacts), whatever became of its session")
            }
            Verdict::LeftBehind(seconds) => {
                write!(f, "held by a session that has been idle for {seconds:.0} s: probably left behind")
            }
            Verdict::Held => f.write_str("held by an open session"),
            Verdict::Invisible => f.write_str(
                "held by a session of another role, which this one may not see (pg_read_all_stats shows it)",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(application: &str, state: &str, seconds: f64) -> Session {
        let (silent, in_state) = (Some(seconds), Some(seconds));
        Session { pid: Some(7), application: application.to_owned(), state: Some(state.to_owned()), silent, in_state }
    }

    fn run(pid: i32) -> OpenRun {
        OpenRun { epoch: 3, node: "a".to_owned(), pid: Some(pid) }
    }

    #[test]
    fn a_lock_of_ours_is_judged_by_who_holds_it_and_what_the_row_says() {
        let job = Subject::Job("j".to_owned());
        let node = |seconds| session("hourhand/15 a", "idle", seconds);
        assert_eq!(judge(&job, &node(3.0), Some(&run(7)), None), Verdict::Runs(run(7)));
        assert_eq!(judge(&job, &node(3.0), Some(&run(8)), None), Verdict::ForNothing);
        assert_eq!(judge(&job, &node(0.1), None, None), Verdict::Passing("a node decides whether to start a run"));
        assert_eq!(judge(&job, &node(19.0), Some(&run(7)), None), Verdict::Silent(19.0, 15.0));
        assert_eq!(judge(&job, &session("web", "idle", 0.0), None, None), Verdict::Foreign("web".to_owned()));
        assert_eq!(judge(&job, &session("psql", "idle", 99.0), Some(&run(7)), None), Verdict::Runs(run(7)), "by begin");
        assert_eq!(judge(&job, &Session { pid: Some(7), ..Session::default() }, None, None), Verdict::Invisible);
        assert_eq!(judge(&job, &Session::default(), None, None), Verdict::Prepared);
        let watch = Subject::Watch("j".to_owned());
        assert_eq!(judge(&watch, &node(1.0), None, None), Verdict::Watches);
        assert!(matches!(judge(&watch, &node(30.0), None, None), Verdict::Silent(..)));
        assert!(matches!(judge(&watch, &session("web", "idle", 1.0), None, None), Verdict::Foreign(_)));
    }

    #[test]
    fn a_lock_of_others_is_held_or_left_behind() {
        let tool = Subject::Tool("Prisma Migrate".to_owned());
        assert_eq!(judge(&tool, &session("x", "active", 600.0), None, None), Verdict::Held);
        assert_eq!(judge(&tool, &session("x", "idle", 600.0), None, None), Verdict::LeftBehind(600.0));
        assert_eq!(
            judge(&Subject::Unknown, &session("x", "active", 1.0), None, Some(vec![4])),
            Verdict::Waits(vec![4])
        );
    }
}
