//! Locks of ours in the wrong hands, and what this role may not see of them or do about them.

use hourhand_core::locks::{Subject, Verdict};
use tokio_postgres::types::Type;

use super::server::{Server, ending};
use super::{Finding, Severity, quoted};
use crate::error::Error;
use crate::operator::Operator;
use crate::operator::locks::AdvisoryLock;
use crate::pg::Param;
use crate::pg::tstz::Tstz;

/// Whether a lock is worth a second look: a session of hourhand's holds a job's and runs nothing, which it may for a moment.
pub(super) fn is_odd(lock: &AdvisoryLock) -> bool {
    let deciding = matches!((&lock.subject, &lock.judged), (Subject::Job(_), Verdict::Passing(_)));
    deciding || lock.judged == Verdict::ForNothing
}

pub(super) fn findings(locks: &[AdvisoryLock], server: &Server) -> Vec<Finding> {
    let mut findings: Vec<Finding> = locks.iter().filter_map(finding).collect();
    findings.extend(not_visible(locks, server));
    findings.extend(not_ours_to_end(server));
    findings
}

fn finding(lock: &AdvisoryLock) -> Option<Finding> {
    let (pid, what) = (lock.pid?, lock.name.as_deref().unwrap_or_default());
    let who = lock.application.as_deref().filter(|name| !name.is_empty()).unwrap_or("without a name");
    let end = || [ending(pid, lock.backend_start)];
    let found = match &lock.judged {
        Verdict::Foreign(_) => Finding::new(
            "foreign_holder",
            Severity::Error,
            format!("the lock of {what} is held by session {pid} ({who}), which is not hourhand's"),
        )
        .why(
            "it leaked into a connection that is kept open, often of a pool, or a program \
             uses the key on purpose; the job cannot run anywhere while it lasts",
        )
        .remedy(
            "have that program let it go, or end the session; `evict_foreign_idle_after` has nodes do so by themselves",
        )
        .sql(end()),
        Verdict::Silent(silent, ttl) => Finding::new(
            "silent_holder",
            Severity::Error,
            format!("session {pid} ({who}) holds {what} and has been silent for {silent:.0} s at a ttl of {ttl:.0} s"),
        )
        .why("its process is frozen or cut off; whoever stands by ends it, unless nobody does, or may not")
        .remedy("end the session (`hourhand doctor --fix` does); its run is recorded as lost and taken over")
        .sql(end()),
        _ if is_odd(lock) => Finding::new(
            "idle_holder",
            Severity::Error,
            format!("session {pid} ({who}) of hourhand's holds {what} and runs nothing"),
        )
        .why("a lock taken twice, or one that nobody gave back: the job cannot run on any other node")
        .remedy("end the session; its process opens another")
        .sql(end()),
        _ => return None,
    };
    Some(match &lock.subject {
        Subject::Job(job) | Subject::Watch(job) => found.job(job),
        _ => found,
    })
}

/// What a weak role cannot see: told as such, lest no finding be taken for nothing wrong.
fn not_visible(locks: &[AdvisoryLock], server: &Server) -> Option<Finding> {
    let ours = locks.iter().filter(|lock| lock.judged == Verdict::Invisible && lock.ours).count();
    let hidden = locks.iter().filter(|lock| lock.pid.is_some() && lock.state.is_none()).count();
    if server.sees || (hidden == 0 && server.sessions_of_others == 0) {
        return None;
    }
    let severity = if ours > 0 { Severity::Warning } else { Severity::Info };
    let role = &server.role;
    let message = format!(
        "role {role} may not see what sessions of other roles do ({} of them here, {hidden} with advisory locks)",
        server.sessions_of_others
    );
    Some(
        Finding::new("not_visible", severity, message)
            .why(
                "whether they are silent, idle or at work was not seen: a frozen or leaked \
             holder among them is not found, here or by a watcher of this role",
            )
            .remedy("as a superuser, let the role see it")
            .sql([format!("grant pg_read_all_stats to {}", quoted(role))]),
    )
}

fn not_ours_to_end(server: &Server) -> Option<Finding> {
    let (role, others) = (&server.role, server.nodes_of_others);
    (others > 0 && !server.ends).then(|| {
        Finding::new(
            "not_ours_to_end",
            Severity::Warning,
            format!("{others} sessions of hourhand's are of other roles, and role {role} may not end them"),
        )
        .why("a watcher of this role could not evict a frozen holder among them: its job would wait for the server to notice")
        .remedy("run all nodes as one role, or as a superuser let this one end them")
        .sql([format!("grant pg_signal_backend to {}", quoted(role))])
    })
}

impl Operator {
    /// Ends the session of a frozen node, as its watcher would; says whose it was.
    pub(super) async fn end_silent(&self, lock: &AdvisoryLock) -> Result<Option<String>, Error> {
        let (Verdict::Silent(silent, _), Some(pid), Some(start)) = (&lock.judged, lock.pid, lock.backend_start) else {
            return Ok(None);
        };
        let start = Tstz(start);
        let params: [Param<'_>; 2] = [(&pid, Type::INT4), (&start, Type::TIMESTAMPTZ)];
        let rows = self.write("fix", &self.statements.end_former, &params).await?;
        let name = lock.name.as_deref().unwrap_or_default();
        let who = lock.application.as_deref().unwrap_or_default();
        Ok((!rows.is_empty()).then(|| format!("ended session {pid} ({who}), silent for {silent:.0} s with {name}")))
    }
}
