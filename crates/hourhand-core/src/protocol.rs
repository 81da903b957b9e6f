//! The words between the node, which decides, and whoever carries out its decisions: a real session, or the simulator's.
//!
//! The node asks one question at a time; each is one statement, and is answered, refused, or cut off by the session's end.

mod answer;
mod event;
mod notice;
mod question;
mod trouble;

pub use answer::{Answer, EndAnswer, Obstacle, Ordered, Proof, SettledRun, StartAnswer};
pub use event::{Action, Event, Happened, TriggerAnswer, What};
pub use notice::Notice;
pub use question::{End, EndForm, Order, Question, Start, Started};
pub use trouble::{Trouble, TroubleKind};

/// A job's place in its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub usize);

/// Whoever asked the node for something and waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);
