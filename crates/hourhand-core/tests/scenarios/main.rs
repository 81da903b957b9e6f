//! Decisions as text: the claim, the table of outcomes, what is due, and the node from wake-up to rest.
//!
//! The cases stand in `testdata/*.txt`, each file with one check; one is added by adding text ([`golden`]).
#![allow(clippy::unwrap_used, reason = "a test has nothing better to do with an error")]

mod claim;
mod golden;
mod node;
mod notation;
mod occurrences;
mod outcomes;
