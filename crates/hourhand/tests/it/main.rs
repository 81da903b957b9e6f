//! The promises, on a real PostgreSQL: one file a promise.

#![allow(unreachable_pub, reason = "one test binary: everything in it is for itself")]

mod world;

mod one_run_at_a_time;
