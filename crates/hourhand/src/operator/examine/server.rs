//! The server itself: its age, its role, its room, its clock.

use hourhand_core::protocol::Trouble;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::settings::{self, Setting};
use super::{Finding, Severity, quoted};
use crate::clock::Clock;
use crate::error::Error;
use crate::operator::Operator;
use crate::pg::row::{get, instant, instant_or_none};
use crate::pg::{Param, Schema};

/// A clock further off than this is worth a word.
const CLOCK_OFFSET_MAX: SignedDuration = SignedDuration::from_secs(2);
/// A node needs a session, its watcher another, a probe and this command one each.
const CONNECTIONS_MIN: i64 = 4;
/// Of the lock table's room, in percent.
const LOCKS_WARN: i64 = 50;
const LOCKS_ERROR: i64 = 85;
/// When the project's support of a major version ends (postgresql.org/support/versioning, 2026-11-30).
const SUPPORTED_UNTIL: [(i32, &str); 5] =
    [(14, "2026-11-12"), (15, "2027-11-11"), (16, "2028-11-09"), (17, "2029-11-08"), (18, "2030-11-14")];

/// What the server and this role are like.
pub(super) struct Server {
    pub(super) standby: bool,
    pub(super) role: String,
    pub(super) database: String,
    /// Whether this role sees what sessions of others do, and may end them.
    pub(super) sees: bool,
    pub(super) ends: bool,
    pub(super) sessions_of_others: i64,
    pub(super) nodes_of_others: i64,
    version: String,
    major: i32,
    now: Timestamp,
    /// The server's clock less ours, as far as the way there tells.
    offset: SignedDuration,
    connections: Vec<Room>,
    locks: Room,
    locks_per_transaction: i64,
    hog: Option<Hog>,
    settings: Vec<Setting>,
}

/// How much of something there is, and how much is used.
struct Room {
    what: String,
    used: i64,
    max: i64,
    /// What would give more.
    more: String,
}

/// The session with the most locks.
struct Hog {
    pid: i32,
    locks: i64,
    application: String,
    start: Option<Timestamp>,
}

impl Operator {
    pub(super) async fn server(&self) -> Result<Server, Error> {
        self.line.connect().await.map_err(|trouble| self.failed("examine", trouble))?;
        let clock = Clock::start();
        let before = clock.now();
        let params: [Param<'_>; 1] = [(&settings::NAMES.as_slice(), Type::TEXT_ARRAY)];
        let rows = self.read("examine", &self.statements.server, &params).await?;
        let way = clock.now().mono.0.saturating_sub(before.mono.0);
        let row =
            rows.first().ok_or_else(|| self.failed("examine", crate::pg::lost("the server did not say what it is")))?;
        let local = before.wall + self.clock_ahead;
        server(row, local, SignedDuration::try_from(way).unwrap_or_default())
            .map_err(|trouble| self.failed("examine", trouble))
    }
}

fn server(row: &Row, local: Timestamp, way: SignedDuration) -> Result<Server, Trouble> {
    let number: i32 = get(row, "version_number")?;
    let (role, database): (String, String) = (get(row, "role")?, get(row, "database")?);
    let now = instant(row, "now")?;
    let hog: Option<i32> = get(row, "hog")?;
    let hog = match hog {
        Some(pid) => Some(Hog {
            pid,
            locks: get(row, "hog_locks")?,
            application: get::<Option<String>>(row, "hog_application")?.unwrap_or_default(),
            start: instant_or_none(row, "hog_start")?,
        }),
        None => None,
    };
    Ok(Server {
        standby: get(row, "standby")?,
        sees: get(row, "sees")?,
        ends: get(row, "ends")?,
        sessions_of_others: get(row, "sessions_of_others")?,
        nodes_of_others: get(row, "nodes_of_others")?,
        version: get(row, "version")?,
        major: number / 10_000,
        now,
        offset: offset(now, local, way),
        connections: connections(row, &role, &database)?,
        locks: Room {
            what: "lock table".to_owned(),
            used: get(row, "locks")?,
            max: get(row, "locks_max")?,
            more: String::new(),
        },
        locks_per_transaction: get(row, "locks_per_transaction")?,
        hog,
        settings: settings::read(row)?,
        role,
        database,
    })
}

/// The server looked at its clock while the question was on its way there or back: what lies within that is no offset.
fn offset(now: Timestamp, asked: Timestamp, way: SignedDuration) -> SignedDuration {
    let (early, late) = (now.duration_since(asked), now.duration_since(asked.saturating_add(way).unwrap_or(asked)));
    if early.is_negative() {
        early
    } else if late.is_positive() {
        late
    } else {
        SignedDuration::ZERO
    }
}

/// The limits that a new session may run into; −1 is none.
fn connections(row: &Row, role: &str, database: &str) -> Result<Vec<Room>, Trouble> {
    let superuser: bool = get(row, "superuser")?;
    let limit = |column| Ok::<i64, Trouble>(i64::from(get::<i32>(row, column)?));
    let mut rooms = vec![Room {
        what: "server".to_owned(),
        used: get(row, "sessions")?,
        max: get(row, "connections")?,
        more: "alter system set max_connections = NUMBER, and a restart; or a pooler for the application".to_owned(),
    }];
    let (of_role, of_database) = (limit("role_limit")?, limit("database_limit")?);
    if of_role >= 0 && !superuser {
        let (used, more) = (get(row, "sessions_of_role")?, of_role + 2 * CONNECTIONS_MIN);
        let more = format!("alter role {} connection limit {more}", quoted(role));
        rooms.push(Room { what: format!("role {role}"), used, max: of_role, more });
    }
    if of_database >= 0 && !superuser {
        let (used, more) = (get(row, "sessions_of_database")?, of_database + 2 * CONNECTIONS_MIN);
        let more = format!("alter database {} connection limit {more}", quoted(database));
        rooms.push(Room { what: format!("database {database}"), used, max: of_database, more });
    }
    Ok(rooms)
}

impl Server {
    pub(super) fn findings(&self, schema: &Schema) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(version(self.major, &self.version, self.now));
        findings.extend(self.in_recovery());
        findings.extend(self.clock());
        findings.extend(self.connections.iter().filter_map(crowded));
        findings.extend(self.lock_table());
        findings.extend(settings::findings(&self.settings, &self.role, &self.database, schema));
        findings
    }

    fn in_recovery(&self) -> Option<Finding> {
        let message = "the server is a standby (in recovery)";
        self.standby.then(|| {
            Finding::new("in_recovery", Severity::Error, message)
                .why("locks and writes need the primary: nothing runs here, and who runs what there is not seen here")
                .remedy("lead the database URL to the primary (target_session_attrs=read-write finds it among several), or promote this one")
                .sql(["select pg_promote()".to_owned()])
        })
    }

    fn clock(&self) -> Option<Finding> {
        let off = self.offset.abs();
        let (seconds, direction) = (off.as_secs_f64(), if self.offset.is_positive() { "behind" } else { "ahead of" });
        (off > CLOCK_OFFSET_MAX).then(|| {
            let message = format!("this machine's clock is {seconds:.1} s {direction} the server's");
            Finding::new("clock_offset", Severity::Warning, message)
                .why(
                    "jobs run by the server's clock, so they run right; but logs of both machines do not fit \
                      together, and a node that sleeps by a clock that is behind wakes late",
                )
                .remedy("have both machines take their time from the network (chrony, systemd-timesyncd, ntpd)")
        })
    }

    fn lock_table(&self) -> Option<Finding> {
        let Room { used, max, .. } = self.locks;
        let percent = used * 100 / max.max(1);
        if percent < LOCKS_WARN {
            return None;
        }
        let severity = if percent < LOCKS_ERROR { Severity::Warning } else { Severity::Error };
        let message = format!("{used} of about {max} places in the server's lock table are taken ({percent} %)");
        let finding = Finding::new("lock_table", severity, message)
            .why("when it is full, every statement that needs another lock fails (53200), those of all applications: no job can start");
        let more = format!("alter system set max_locks_per_transaction = {}", self.locks_per_transaction * 2);
        Some(match self.hog.as_ref().filter(|hog| hog.locks * 2 > used) {
            Some(hog) => finding
                .remedy(format!(
                    "session {} ({}) alone holds {} of them: have it let go, or end it; if it needs them, double the table ({more}, and a restart)",
                    hog.pid, hog.application, hog.locks
                ))
                .sql([ending(hog.pid, hog.start)]),
            None => finding.remedy("double the table, which takes a restart").sql([more]),
        })
    }
}

/// The statement that ends a session, and nobody who has been given its process id since.
pub(super) fn ending(pid: i32, start: Option<Timestamp>) -> String {
    let start = start.map(|start| format!(" and a.backend_start = '{start:.6}'")).unwrap_or_default();
    format!("select pg_terminate_backend(a.pid) from pg_stat_activity a where a.pid = {pid}{start}")
}

fn version(major: i32, version: &str, now: Timestamp) -> Option<Finding> {
    let (_, until) = SUPPORTED_UNTIL.iter().find(|(known, _)| *known == major)?;
    let today = now.strftime("%Y-%m-%d").to_string();
    (today.as_str() > *until).then(|| {
        Finding::new(
            "server_version",
            Severity::Warning,
            format!("PostgreSQL {version} has had no fixes since {until}"),
        )
        .why("hourhand works with it, but nobody mends its faults any more")
        .remedy("upgrade the server to a version that is still maintained (18 is the newest that is known here)")
    })
}

fn crowded(room: &Room) -> Option<Finding> {
    let free = room.max - room.used;
    (free < CONNECTIONS_MIN).then(|| {
        let severity = if free <= 0 { Severity::Error } else { Severity::Warning };
        let message = format!("{}: {} of {} connections are taken", room.what, room.used, room.max);
        let alter = room.more.starts_with("alter role") || room.more.starts_with("alter database");
        Finding::new("connections", severity, message)
            .why(
                "a node needs a session for its locks and whoever stands by another; without one (53300) due jobs wait",
            )
            .remedy(if alter { "raise the limit".to_owned() } else { format!("end idle sessions, or {}", room.more) })
            .sql(alter.then(|| room.more.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_old_from_the_day_after_its_last_fixes() {
        let at = |day: &str| format!("{day}T12:00:00Z").parse().expect("an instant");
        assert!(version(14, "14.20", at("2026-11-12")).is_none());
        assert!(version(14, "14.20", at("2026-11-13")).is_some_and(|finding| finding.message.contains("14.20")));
        assert!(version(18, "18.1", at("2026-11-30")).is_none());
        assert!(version(99, "99.0", at("2026-11-30")).is_none());
    }

    #[test]
    fn what_the_way_to_the_server_may_have_taken_is_no_offset() {
        let asked: Timestamp = "2026-11-30T12:00:00Z".parse().expect("an instant");
        let seconds = SignedDuration::from_secs;
        assert_eq!(offset(asked + seconds(3), asked, seconds(4)), SignedDuration::ZERO);
        assert_eq!(offset(asked + seconds(9), asked, seconds(4)), seconds(5));
        assert_eq!(offset(asked - seconds(9), asked, seconds(4)), seconds(-9));
    }
}
