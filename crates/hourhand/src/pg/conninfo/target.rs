//! Which kind of server will do (`target_session_attrs`).

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio_postgres::{Client, Connection, Error, SimpleQueryMessage, Socket};

use crate::pg::tls::Stream;

const SESSION_KIND: &str = include_str!("../sql/session_kind.sql");

/// What a session has to be; the words are libpq's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

impl Target {
    pub(super) const WORDS: &'static [(&'static str, Target)] = &[
        ("any", Target::Any),
        ("read-write", Target::ReadWrite),
        ("read-only", Target::ReadOnly),
        ("primary", Target::Primary),
        ("standby", Target::Standby),
        ("prefer-standby", Target::PreferStandby),
    ];

    /// What to look for in each round through the servers.
    pub(super) fn rounds(self) -> &'static [Target] {
        match self {
            Target::Any => &[Target::Any],
            Target::ReadWrite => &[Target::ReadWrite],
            Target::ReadOnly => &[Target::ReadOnly],
            Target::Primary => &[Target::Primary],
            Target::Standby => &[Target::Standby],
            Target::PreferStandby => &[Target::Standby, Target::Any],
        }
    }

    /// Whether a session of this kind will do.
    fn is_met_by(self, kind: Kind) -> bool {
        match self {
            Target::Any | Target::PreferStandby => true,
            Target::ReadWrite => !kind.read_only,
            Target::ReadOnly => kind.read_only,
            Target::Primary => !kind.standby,
            Target::Standby => kind.standby,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Target::WORDS.iter().find(|(_, target)| target == self);
        f.write_str(word.map_or("", |(word, _)| word))
    }
}

/// What a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    standby: bool,
    read_only: bool,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = if self.standby { "a standby" } else { "a primary" };
        let session = if self.read_only { "takes no writes" } else { "takes writes" };
        write!(f, "{server} that {session}")
    }
}

/// Asks a new session what it is; `None` if it will do.
///
/// It is asked and not read from the parameters that a server reports: poolers report other servers' or none.
pub(super) async fn mismatch(
    target: Target,
    client: &Client,
    connection: &mut Connection<Socket, Stream>,
) -> Result<Option<Kind>, Error> {
    if target == Target::Any {
        return Ok(None);
    }
    let mut answer = pin!(client.simple_query(SESSION_KIND));
    let messages = poll_fn(|context| {
        // Nobody else moves this connection yet. Its notices are of no interest here; its end is.
        loop {
            match connection.poll_message(context) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) | Poll::Pending => return answer.as_mut().poll(context),
            }
        }
    })
    .await?;
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let says = |column| row.and_then(|row| row.get(column)) == Some("t");
    let kind = Kind { standby: says("standby"), read_only: says("read_only") };
    Ok(Some(kind).filter(|kind| !target.is_met_by(*kind)))
}
