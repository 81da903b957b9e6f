//! Schedules: cases as text, a differential fuzz, and every time zone's changes of the clock.
//!
//! Most cases stand in `testdata/schedule/*.txt`: one is added by adding text. The fuzzes print their seed; with
//! `HOURHAND_SEED` one is played again, with `HOURHAND_FUZZ_SECONDS` they go on for longer than a few seconds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cases;
mod count;
mod drawn;
mod golden;
mod notes;
mod oracle;
mod parsing;
mod refusals;
mod seed;
mod zones;
