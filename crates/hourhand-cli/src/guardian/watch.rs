//! The guardian's life: one thread, one loop, no lock and no runtime.
//!
//! One thread, because the command's death signal follows the thread that started it; no runtime, because what is to outlive
//! everything else should need as little as possible. Each turn of the loop reads all orders, then the clock, then decides: a deadline
//! that was moved on in time must not count as past because we slept.
//!
//! Ending has one direction. The first reason begins it (SIGTERM, and an instant for SIGKILL), later ones can only bring that instant
//! nearer; a deadline of trust that has passed is not taken back by an order that comes after it. And it has one end: no child is left, our
//! own or adopted. Until then there is always another walk.

use std::ffi::OsString;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, setsid, wait};
use rustix::stdio::stdin;

use super::words::{Order, Report, Status};
use super::{Brief, family, handover, machine_clock, nanos, start};

/// Without a sidecar nobody holds the lock any more: what remains is a moment to put things down.
const ORPHAN_GRACE: Duration = Duration::from_secs(1);
/// What a command has left running has this long to end by itself.
const LEFT_GRACE: Duration = Duration::from_secs(2);
/// No wait is longer: what was left to us is reaped, and a machine that was suspended is noticed.
const PIECE: Duration = Duration::from_millis(500);
/// Between two walks over `/proc` while ending what does not end at once.
const WALK: Duration = Duration::from_millis(20);

/// Guards a command until nothing of it is left.
pub(super) fn main(args: &[OsString]) -> ExitCode {
    let guarding = Brief::parse(args).map_err(std::io::Error::other).and_then(|brief| Guard::begin(brief, &args[4..]));
    match guarding {
        Ok(Some(guard)) => guard.run(),
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hourhand: the guardian of a command could not begin: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Guard {
    brief: Brief,
    socket: UnixStream,
    /// Orders read so far, up to an unfinished line.
    heard: Vec<u8>,
    command: Pid,
    ended: bool,
    /// The trust has ended, once for all.
    lost: bool,
    ending: Option<Ending>,
}

/// The command is being ended.
#[derive(Clone, Copy)]
struct Ending {
    since: Duration,
    kill_at: Duration,
}

impl Guard {
    /// Takes the streams and starts the command. `None`: it could not be started, and that has been told.
    fn begin(brief: Brief, words: &[OsString]) -> std::io::Result<Option<Guard>> {
        ignore_signals()?;
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_name(c"hourhand-guard");
        if brief.terminal.is_none() {
            // Fails only where it has happened already.
            let _ = setsid();
        }
        adopt_orphans()?;
        let mut socket = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(stdin(), 3)?);
        let streams = handover::take(&socket)?;
        // From here on only the command has them: they end when it and what it started have ended.
        let started =
            start::start(words, brief.terminal, streams).and_then(|(child, told)| Ok((child, why_not(told)?)));
        let (mut child, failed) = match started {
            Ok(started) => started,
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                return write!(socket, "{}", Report::Failed(errno)).map(|()| None);
            }
        };
        if let Some(errno) = failed {
            child.wait()?;
            return write!(socket, "{}", Report::Failed(errno)).map(|()| None);
        }
        socket.set_nonblocking(true)?;
        let command = pid_of(&child)?;
        let guard = Guard { brief, socket, heard: Vec::new(), command, ended: false, lost: false, ending: None };
        guard.tell(Report::Started(command.as_raw_nonzero().get()));
        Ok(Some(guard))
    }

    fn run(mut self) -> ExitCode {
        loop {
            // Orders first: a deadline that was moved on in time is not past.
            let owner = self.hear();
            let now = machine_clock();
            if !owner {
                self.end_within(now, self.lost_grace().min(ORPHAN_GRACE));
            }
            if self.lost || now >= self.brief.until {
                self.lost = true;
                self.end_within(now, self.lost_grace());
            }
            if self.reap(now) {
                return ExitCode::SUCCESS;
            }
            if self.ending.is_some_and(|ending| now >= ending.kill_at) {
                self.kill_all();
            }
            self.wait_for_news(machine_clock(), owner);
        }
    }

    fn lost_grace(&self) -> Duration {
        self.brief.stop_grace.min(self.brief.lost_grace)
    }

    /// Ends the command with at most this grace: begun already, no later than it would have been.
    fn end_within(&mut self, now: Duration, grace: Duration) {
        match &mut self.ending {
            Some(ending) => ending.kill_at = ending.kill_at.min((ending.since + grace).max(now)),
            None => {
                self.ending = Some(Ending { since: now, kill_at: now + grace });
                self.terminate();
            }
        }
    }

    /// SIGTERM to the command and its process group: what has left that has its own ways, or is killed later. On a terminal the
    /// group is also ours and our sidecar's, so there its members are told one by one.
    fn terminate(&self) {
        let group = self.command.as_raw_nonzero().get();
        if !self.ended && self.brief.terminal.is_none() && kill_process_group(self.command, Signal::TERM).is_ok() {
            // A stopped process takes note of nothing but this.
            let _ = kill_process_group(self.command, Signal::CONT);
            return;
        }
        if !family::IS_SEEN && !self.ended {
            let _ = kill_process(self.command, Signal::TERM);
            let _ = kill_process(self.command, Signal::CONT);
        }
        let group = self.brief.terminal.unwrap_or(group);
        for process in family::descendants(own_pid()).iter().filter(|process| self.ended || process.group == group) {
            family::signal(process, Signal::TERM);
            family::signal(process, Signal::CONT);
        }
    }

    /// SIGKILL to everybody, a walk at a time: who forks meanwhile is met at the next.
    fn kill_all(&self) {
        if !self.ended {
            // Not reaped yet, so the id is still the command's.
            let _ = kill_process(self.command, Signal::KILL);
            if self.brief.terminal.is_none() {
                let _ = kill_process_group(self.command, Signal::KILL);
            }
        }
        for process in family::descendants(own_pid()) {
            family::signal(&process, Signal::KILL);
        }
    }

    /// Takes note of the children that have ended, our own and those left to us. True: there is none any more.
    fn reap(&mut self, now: Duration) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => {
                    self.ended = true;
                    let killed = status.terminating_signal().map(Status::Killed);
                    let status = killed.unwrap_or(Status::Exited(status.exit_status().unwrap_or(0)));
                    self.tell(Report::Ended(status));
                    self.see_who_is_left(now);
                }
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(rustix::io::Errno::INTR) => {}
                // No child is left.
                Err(_) => return true,
            }
        }
    }

    fn see_who_is_left(&mut self, now: Duration) {
        let left = family::descendants(own_pid()).len();
        if left == 0 {
            return;
        }
        if self.ending.is_none() {
            self.tell(Report::Left(left));
        } else {
            // They have been told, unless they had left the group: now nobody else tells them.
            self.terminate();
        }
        self.end_within(now, self.brief.stop_grace.min(LEFT_GRACE));
    }

    /// Takes the orders that have come. False: whoever gives them has ended.
    fn hear(&mut self) -> bool {
        let mut piece = [0; 1024];
        loop {
            match self.socket.read(&mut piece) {
                Ok(0) => return false,
                Ok(length) => self.heard.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            if let Some(order) = Order::parse(&String::from_utf8_lossy(&line)) {
                self.obey(order);
            }
        }
        true
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Trust(until) => self.brief.until = until,
            Order::Stop(grace) => self.end_within(machine_clock(), grace),
            // Not reaped yet, so the id is still the command's.
            Order::Signal(number) if !self.ended => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    let _ = kill_process(self.command, signal);
                }
            }
            Order::Signal(_) => {}
        }
    }

    fn tell(&self, report: Report) {
        // Whoever listened may have gone; that is noticed elsewhere.
        let _ = write!(&self.socket, "{report}");
    }

    /// Waits until there is something to do: an order, the command's end, a deadline, or a while.
    fn wait_for_news(&self, now: Duration, owner: bool) {
        let ahead = match self.ending {
            Some(ending) if now >= ending.kill_at => WALK,
            Some(ending) => (ending.kill_at - now).min(WALK),
            None => self.brief.until.saturating_sub(now).min(PIECE),
        };
        let pidfd = if self.ended { None } else { watch(self.command) };
        let mut sources = Vec::new();
        if owner {
            sources.push(PollFd::new(&self.socket, PollFlags::IN));
        }
        sources.extend(pidfd.as_ref().map(|pidfd| PollFd::new(pidfd, PollFlags::IN)));
        let timeout = Timespec::try_from(Duration::from_nanos(nanos(ahead).max(1_000_000)));
        // Interrupted or refused, it is a shorter wait.
        if poll(&mut sources, timeout.ok().as_ref()).is_err() {
            std::thread::sleep(WALK.min(ahead));
        }
    }
}

/// What the start has to tell: nothing, when the command has begun.
fn why_not(mut told: UnixStream) -> std::io::Result<Option<i32>> {
    let mut line = String::new();
    told.read_to_string(&mut line)?;
    Ok(match Report::parse(&line) {
        Some(Report::Failed(errno)) => Some(errno),
        _ => None,
    })
}

fn pid_of(child: &Child) -> std::io::Result<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| std::io::Error::other("a child without an id"))
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// A guardian outlives the signals that end whole groups and control groups: it ends when nothing is left to guard. Handled, not
/// ignored: a signal that is ignored would be so in the command too.
fn ignore_signals() -> std::io::Result<()> {
    use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2};
    let never_read = Arc::new(AtomicBool::new(false));
    let ignored = super::signals_ignored();
    let all = [SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2];
    for signal in all.into_iter().filter(|signal| !ignored.contains(signal)) {
        signal_hook::flag::register(signal, never_read.clone())?;
    }
    Ok(())
}

/// Becomes the parent of whatever its descendants leave.
#[cfg(target_os = "linux")]
fn adopt_orphans() -> std::io::Result<()> {
    // Any process id but none switches it on.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(Into::into)
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> std::io::Result<()> {
    Ok(())
}

/// Something that can be polled for the end of a child.
#[cfg(target_os = "linux")]
fn watch(child: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn watch(_child: Pid) -> Option<OwnedFd> {
    None
}
