//! The command `hourhand`: a sidecar for any language, a wrapper for one command, and the operator's tool.

fn main() {}
