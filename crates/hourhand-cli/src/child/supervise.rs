//! Our end of the socket: starts the guardian, tells it what changes, hears how the command ended.
//!
//! The socket says three things by itself. Closed by us, in whatever way we end, it is the guardian's order to end the command. Closed by the
//! guardian it means that nothing is left, if a report came before; without one the guardian was killed, and what it guarded is ours to
//! find. And full, it means that the guardian reads nothing: it is frozen, and killed.
//!
//! Orders are lines that say how things stand, not what has changed (*trusted until then*, not *for another 3 s*): one that comes late or twice
//! does no harm.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as Blocking;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hourhand::Failure;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Command;
use super::cause::Cause;
use super::ended::{Ended, why_not_started};
use crate::guardian::words::{Order, Report};
use crate::guardian::{Brief, GUARDIAN, family, handover, this_program};

/// The variable by which the processes of a run are found if their guardian is killed.
const MARK: &str = "HOURHAND_GUARDIAN";
/// A guardian that was told to end its command, and is not done so long after the grace, does not work any more.
const GUARDIAN_LATE: Duration = Duration::from_secs(1);
/// How long the descendants of a killed guardian's command are looked for.
const SEARCH: Duration = Duration::from_secs(2);

/// What a command has of the world outside.
pub(crate) struct Outside {
    /// Its standard input, output and error.
    pub(crate) streams: [OwnedFd; 3],
    /// The process group that has the terminal, which it joins; `None`: a session of its own.
    pub(crate) terminal: Option<i32>,
    /// It may speak to the service manager in our place.
    pub(crate) notifies: bool,
}

/// Runs a command under a guardian until nothing of it is left. `signals` are passed on to it.
///
/// # Errors
///
/// No guardian could be started for it.
pub(crate) async fn supervise(
    command: &Command,
    mut cause: Cause,
    outside: Outside,
    signals: &mut mpsc::Receiver<i32>,
) -> Result<Ended, Failure> {
    let mut guardian = Guardian::start(command, &mut cause, outside)?;
    let stopped = cause.stopped.clone();
    let (mut moving, mut signalling, mut late) = (true, true, None);
    loop {
        tokio::select! {
            report = guardian.reports.next_line() => match report {
                Ok(Some(line)) => guardian.take((command, cause.why_nothing_is_left), Report::parse(&line)),
                Ok(None) | Err(_) => break,
            },
            moved = cause.moved(), if moving => {
                guardian.tell(Order::Trust(cause.until())).await;
                // Nobody moves it on any more: what was said last stands.
                moving = moved;
            }
            () = stopped.cancelled(), if late.is_none() => {
                guardian.tell(Order::Stop(command.stop_grace)).await;
                late = Some(Instant::now() + command.stop_grace + GUARDIAN_LATE);
            }
            signal = signals.recv(), if signalling => match signal {
                Some(signal) => guardian.tell(Order::Signal(signal)).await,
                None => signalling = false,
            },
            () = until(late) => guardian.kill(),
        }
    }
    Ok(guardian.end().await)
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

struct Guardian {
    process: Child,
    pid: i32,
    /// Its entry in the environment of everything it starts.
    mark: String,
    reports: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
    ended: Option<Ended>,
    /// It has done what it was there for.
    done: bool,
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Guardian {
    fn start(command: &Command, cause: &mut Cause, outside: Outside) -> Result<Guardian, Failure> {
        if let Some(dir) = command.dir.as_ref().filter(|dir| !dir.is_dir()) {
            return Err(Failure::unexpected(format!(
                "could not start the command: {} is not a directory",
                dir.display()
            )));
        }
        let value = mark();
        let (process, socket) = spawn(command, cause, (&outside, &value))
            .map_err(|error| Failure::unexpected(format!("could not start the command's guardian: {error}")))?;
        let pid = process.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
        socket.set_nonblocking(true)?;
        let (reading, orders) = UnixStream::from_std(socket)?.into_split();
        let reports = BufReader::new(reading).lines();
        let mark = format!("{MARK}={value}");
        Ok(Guardian { process, pid, mark, reports, orders, ended: None, done: false })
    }

    fn take(&mut self, (command, why): (&Command, &str), report: Option<Report>) {
        match report {
            Some(Report::Started(pid)) => tracing::debug!(job = command.job, pid, "command started"),
            Some(Report::Failed(errno)) => {
                let program = command.argv.first().map(std::ffi::OsString::as_os_str).unwrap_or_default();
                self.ended = Some(Ended::NotStarted { errno, why: why_not_started(program, errno) });
            }
            Some(Report::Ended(status)) => self.ended = Some(Ended::With(status)),
            Some(Report::Left(count)) => tracing::warn!(
                job = command.job,
                count,
                "the command has ended and left processes running: they are ended, since {why}"
            ),
            None => {}
        }
    }

    async fn tell(&mut self, order: Order) {
        // If it has gone, the end of its reports says so. Hours of orders find room in the socket: whoever has read none of them is
        // of no use.
        let line = order.to_string();
        if tokio::time::timeout(GUARDIAN_LATE, self.orders.write_all(line.as_bytes())).await.is_err() {
            self.kill();
        }
    }

    fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.process.start_kill();
    }

    /// The command's task was aborted. A guardian notices, and ends the command; one that is stopped does not, and it has no say any more.
    fn abandon(&mut self) {
        if !self.done && family::is_stopped(self.pid) {
            self.kill();
            family::left_by(self.pid, &self.mark).iter().for_each(|process| family::signal(process, Signal::KILL));
        }
    }

    /// The socket has closed: nothing is left of the command, or the guardian has been killed.
    async fn end(mut self) -> Ended {
        // It closes its socket by ending; and if it was frozen in that very moment, it is of no use any more.
        if tokio::time::timeout(GUARDIAN_LATE, self.process.wait()).await.is_err() {
            self.kill();
        }
        if self.ended.is_none() {
            self.end_what_is_left().await;
        }
        self.done = true;
        self.ended.take().unwrap_or(Ended::GuardianKilled)
    }

    /// The guardian did not live to do it.
    async fn end_what_is_left(&self) {
        let began = Instant::now();
        loop {
            let left = family::left_by(self.pid, &self.mark);
            if left.is_empty() || began.elapsed() > SEARCH {
                return;
            }
            left.iter().for_each(|process| family::signal(process, Signal::KILL));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn spawn(command: &Command, cause: &mut Cause, (outside, mark): (&Outside, &str)) -> io::Result<(Child, Blocking)> {
    let (here, there) = Blocking::pair()?;
    let brief = Brief {
        terminal: outside.terminal,
        stop_grace: command.stop_grace,
        // The rest is for us, to see it end before the time is up.
        lost_grace: cause.stop_within() * 4 / 5,
        until: cause.until(),
    };
    let mut guardian = tokio::process::Command::new(this_program()?);
    guardian.arg0("hourhand").arg(GUARDIAN).args(brief.to_args()).args(&command.argv);
    guardian
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .envs(cause.facts.iter().map(|(name, value)| (name, value)))
        .env(MARK, mark);
    if !outside.notifies {
        guardian.env_remove("NOTIFY_SOCKET").env_remove("WATCHDOG_USEC").env_remove("WATCHDOG_PID");
    }
    if let Some(dir) = &command.dir {
        guardian.current_dir(dir);
    }
    if outside.terminal.is_some() {
        // Of the terminal's session, but not of the group that Ctrl-C and Ctrl-Z mean.
        guardian.process_group(0);
    }
    guardian.stdin(Stdio::from(OwnedFd::from(there))).stdout(Stdio::null());
    let process = guardian.spawn()?;
    handover::give(&here, outside.streams.each_ref().map(|stream| stream.as_fd()))?;
    Ok((process, here))
}

/// Unlike that of any other guardian on this machine.
fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}-{}", std::process::id(), crate::guardian::machine_clock().as_nanos())
}
