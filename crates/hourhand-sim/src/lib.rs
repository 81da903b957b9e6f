//! Many nodes in virtual time, against a model of PostgreSQL, with everything going wrong that a seed draws.
//!
//! The nodes are the shipped ones: [`hourhand_core::node::Node`], fed with events and obeyed as the library's loop does it. Everything
//! around them is a model: the server with its sessions, advisory locks, rows and open transactions; lines that are slow, cut or
//! closed; clocks that are wrong or stepped; processes that are killed, frozen and replaced; bodies that write under the fence, fail,
//! hang, block, or take their process with them. After every step the promises are checked against the truth, which the
//! simulator knows; after a quiet period at the end all must be well again.
//!
//! A seed gives the same run every time. [`Bug`] plants one of two dozen known mistakes, to show that the simulator is able to fail.

mod body;
mod bug;
mod check;
mod plan;
mod process;
mod random;
mod report;
mod scale;
mod server;
mod time;
mod world;

pub use bug::Bug;
pub use check::Violation;
pub use plan::{Fleet, Plan};
pub use report::Report;
pub use scale::{Load, Rate, Scale};

/// What a run came to: its counts, and the first promise that was not kept.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The counts, as far as it came.
    pub report: Report,
    /// What it cost the server, and how late occurrences were.
    pub scale: Scale,
    /// `None`: all promises were kept.
    pub violation: Option<Violation>,
    /// What happened, line by line, if it was asked for.
    pub trace: Vec<String>,
}

/// Runs a plan.
pub fn run(plan: Plan) -> Outcome {
    world::World::new(plan, false).run()
}

/// Runs a plan and writes down what happens.
pub fn trace(plan: Plan) -> Outcome {
    world::World::new(plan, true).run()
}
