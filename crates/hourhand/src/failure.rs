//! Why a body could not do its work.

use std::fmt;

use hourhand_core::outcome::BodyEnd;
use jiff::SignedDuration;

/// Why a run failed. Any error becomes one with `?`; that is an unexpected error, said at level ERROR, where error trackers look.
///
/// An outage that was to be expected is [`Failure::transient`]: said at level WARN. Either way the outcome is `failed`, and the
/// message, bounded, goes to history.
pub struct Failure {
    text: String,
    transient: bool,
    retry_after: Option<SignedDuration>,
}

impl Failure {
    /// An outage to be expected of the outside world: worth a warning, not a page.
    pub fn transient(message: impl fmt::Display) -> Failure {
        Failure { text: message.to_string(), transient: true, retry_after: None }
    }

    /// An unexpected failure, from a message alone.
    pub fn unexpected(message: impl fmt::Display) -> Failure {
        Failure { text: message.to_string(), transient: false, retry_after: None }
    }

    /// Asks for this wait instead of the job's own backoff, if attempts remain. A negative length counts as none.
    pub fn retry_after(mut self, length: impl TryInto<SignedDuration>) -> Failure {
        self.retry_after = length.try_into().ok().map(|length: SignedDuration| length.max(SignedDuration::ZERO));
        self
    }

    /// Whether it was to be expected.
    pub fn is_transient(&self) -> bool {
        self.transient
    }

    pub(crate) fn into_end(self) -> BodyEnd {
        BodyEnd::Failed { error: self.text, transient: self.transient, retry_after: self.retry_after }
    }
}

/// With its causes, since history keeps only text.
impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Failure {
        let error = error.into();
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            let line = next.to_string();
            // Some errors repeat their cause in their own message.
            if !text.ends_with(&line) {
                text.push_str(": ");
                text.push_str(&line);
            }
            cause = next.source();
        }
        Failure { text, transient: false, retry_after: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({:?}{})", self.text, if self.transient { ", transient" } else { "" })
    }
}
