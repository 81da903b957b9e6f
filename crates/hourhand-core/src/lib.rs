//! The pure decisions of hourhand: names, schedules, occurrences, claims, and the node that puts them together.
//!
//! Nothing here does I/O, reads a clock, draws a random number or logs. [`node::Node`] is told the time and what happened, and
//! answers with what it wants done; a real session carries that out, or a simulated one.

pub mod backoff;
pub mod claim;
mod continuous;
mod decision;
pub mod facts;
pub mod instant;
pub mod job;
pub mod key;
pub mod locks;
pub mod name;
pub mod near;
pub mod node;
pub mod occurrence;
pub mod outcome;
pub mod plain;
pub mod protocol;
pub mod request;
pub mod schedule;
pub mod time;
