//! crates/hourhand
