//! What is said over the socket: a line each, plain words and numbers.

use std::fmt;
use std::time::Duration;

/// What a guardian is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The run may be believed in until then, on the machine's clock.
    Trust(Duration),
    /// End the command, with this grace between SIGTERM and SIGKILL.
    Stop(Duration),
    /// Pass a signal on to the command.
    Signal(i32),
}

/// What a guardian tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command has begun, as this process.
    Started(i32),
    /// It could not be started, for this reason of the system.
    Failed(i32),
    /// It has ended.
    Ended(Status),
    /// It has left so many processes running, which are ended now.
    Left(usize),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// With this exit status.
    Exited(i32),
    /// Killed by this signal.
    Killed(i32),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Trust(until) => writeln!(f, "trust {}", super::nanos(*until)),
            Order::Stop(grace) => writeln!(f, "stop {}", super::nanos(*grace)),
            Order::Signal(number) => writeln!(f, "signal {number}"),
        }
    }
}

impl Order {
    /// `None`: not one of ours.
    pub(crate) fn parse(line: &str) -> Option<Order> {
        let (word, number) = line.trim_end().split_once(' ')?;
        match word {
            "trust" => number.parse().ok().map(Duration::from_nanos).map(Order::Trust),
            "stop" => number.parse().ok().map(Duration::from_nanos).map(Order::Stop),
            "signal" => number.parse().ok().map(Order::Signal),
            _ => None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Started(pid) => writeln!(f, "started {pid}"),
            Report::Failed(errno) => writeln!(f, "failed {errno}"),
            Report::Ended(Status::Exited(code)) => writeln!(f, "exited {code}"),
            Report::Ended(Status::Killed(signal)) => writeln!(f, "killed {signal}"),
            Report::Left(count) => writeln!(f, "left {count}"),
        }
    }
}

impl Report {
    /// `None`: not one of ours.
    pub(crate) fn parse(line: &str) -> Option<Report> {
        let (word, number) = line.trim_end().split_once(' ')?;
        match word {
            "started" => number.parse().ok().map(Report::Started),
            "failed" => number.parse().ok().map(Report::Failed),
            "exited" => number.parse().ok().map(|code| Report::Ended(Status::Exited(code))),
            "killed" => number.parse().ok().map(|signal| Report::Ended(Status::Killed(signal))),
            "left" => number.parse().ok().map(Report::Left),
            _ => None,
        }
    }
}

impl Status {
    /// As a shell says it: 128 and the signal's number for a killed one.
    pub(crate) fn code(self) -> i32 {
        match self {
            Status::Exited(code) => code,
            Status::Killed(signal) => 128 + signal,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Exited(code) => write!(f, "exit status {code}"),
            Status::Killed(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "killed by signal {signal} ({name})"),
                None => write!(f, "killed by signal {signal}"),
            },
        }
    }
}

/// What people call a signal.
pub(crate) fn signal_name(number: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
    ];
    names.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let orders = [Order::Trust(Duration::from_nanos(17)), Order::Stop(Duration::from_secs(10)), Order::Signal(15)];
        assert!(orders.iter().all(|order| Order::parse(&order.to_string()) == Some(*order)));
        let ended = [Report::Ended(Status::Exited(3)), Report::Ended(Status::Killed(9))];
        let reports = [Report::Started(4), Report::Failed(2), ended[0], ended[1], Report::Left(1)];
        assert!(reports.iter().all(|report| Report::parse(&report.to_string()) == Some(*report)));
        assert_eq!(Order::parse("nonsense 3"), None);
        assert_eq!(Report::parse("exited"), None);
    }

    #[test]
    fn a_death_is_told_by_the_signals_number_and_name() {
        assert_eq!(Status::Killed(9).to_string(), "killed by signal 9 (SIGKILL)");
        assert_eq!((Status::Killed(9).code(), Status::Exited(3).code()), (137, 3));
        assert_eq!(Status::Exited(3).to_string(), "exit status 3");
    }
}
