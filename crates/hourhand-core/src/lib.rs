//! crates/hourhand-core
