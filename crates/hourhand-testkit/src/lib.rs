//! crates/hourhand-testkit
