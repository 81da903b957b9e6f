//! The contract between the harness and a replica: what it is told ([`Orders`]) and what it writes down ([`Book`]).
//!
//! A replica is a process with a scheduler in it, hourhand's or a peer's, used as its own documentation says. It is told a
//! database, how many jobs, how often, and how long a body takes. Its bodies do nothing but wait; each writes a line when it
//! begins and one when it ends. All judging is done by who reads the lines.

mod book;
mod orders;

pub use book::{Begun, Book, Line, What, boot_time, wall_time};
pub use orders::{Orders, refuse};
