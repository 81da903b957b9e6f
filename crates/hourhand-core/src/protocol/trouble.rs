//! Why something came to nothing.

/// Why a question, or the connection, came to nothing. Branches on the kind; the text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What to do about it.
    pub kind: TroubleKind,
    /// For people, without secrets.
    pub text: String,
}

/// The kinds of trouble that are treated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// No server, no answer, or the session ended.
    Unreachable,
    /// Wrong password, no such database: trying again soon helps little.
    Refused,
    /// No connection left (53300).
    TooManyConnections,
    /// Our own bound passed without an answer: whatever was asked for may still happen.
    TimedOut,
    /// The server gave the statement up (57014), or its wait for a row (55P03).
    Cancelled,
    /// The lock table is full (53200).
    OutOfLocks,
    /// Schema, table or function is missing.
    NotMigrated,
    /// A privilege is missing (42501).
    Forbidden,
    /// The server is too old, or otherwise can never serve.
    Incompatible,
    /// A transaction pooler stands between: a session lock would be nobody's.
    Pooled,
    /// Anything else the server said.
    Other,
}
