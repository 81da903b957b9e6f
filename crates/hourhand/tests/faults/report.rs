//! The one form in which a fault's measure is printed; `cargo xtask faults` reads it.

use std::time::Duration;

/// Prints what was measured.
pub fn measured(fault: &str, bound: &str, measured: impl std::fmt::Display) {
    println!("fault: {fault} | bound {bound} | measured {measured}");
}

/// Prints how long something took, and fails if that is not within its bound.
#[track_caller]
pub fn within(fault: &str, bound: Duration, took: Duration) {
    measured(fault, &format!("< {}", shown(bound)), shown(took));
    assert!(took < bound, "{fault}: {took:?}, the bound is {bound:?}");
}

/// Says that this machine does not allow a fault.
pub fn skipped(fault: &str, because: impl std::fmt::Display) {
    println!("fault: {fault} | skipped, because {because}");
}

/// A length for people.
pub fn shown(length: Duration) -> String {
    if length < Duration::from_secs(1) {
        format!("{} ms", length.as_millis())
    } else if length.subsec_nanos() == 0 {
        format!("{} s", length.as_secs())
    } else {
        format!("{:.1} s", length.as_secs_f64())
    }
}
