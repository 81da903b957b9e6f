//! Decisions as text: the claim, the table of outcomes, what is due, and the node from wake-up to rest.
//!
//! The cases stand in `testdata/*.txt`, each file with one check; one is added by adding text ([`golden`]).

mod claim;
mod golden;
mod node;
mod notation;
mod occurrences;
mod outcomes;
