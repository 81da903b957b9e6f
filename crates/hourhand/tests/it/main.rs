//! The promises, on a real PostgreSQL: one file a promise.
#![allow(clippy::unwrap_used, reason = "a test has nothing better to do with an error")]
#![allow(unreachable_pub, reason = "one test binary: everything in it is for itself")]

mod cut_off;
#[allow(dead_code, reason = "shared with the faults, which use the rest of it")]
#[path = "../faults/pooler.rs"]
mod pooler;
mod proxy;
mod world;

mod acquisition_in_doubt;
mod backfills;
mod bodies_that_misbehave;
mod callers_that_give_up;
mod cancel_matrix;
mod catch_up;
mod catch_up_and_overlap;
mod contenders_cut_off;
mod continuous_jobs;
mod doctor;
mod doctor_of_servers;
mod exclusive_groups;
mod failures_and_retries;
mod fence;
mod hooks;
mod hostile_settings;
mod interventions;
mod jobs_come_and_go;
mod leases;
mod locks_have_names;
mod manual_runs;
mod migrations;
mod migrations_cut_off;
mod nobody_waits_in_the_server;
mod nothing_at_rest;
mod one_run_at_a_time;
mod orders_cut_off;
mod pauses;
mod preparing_cut_off;
mod recording_refused;
mod renamed_jobs;
mod requests_from_elsewhere;
mod retention;
mod rolling_deploys;
mod run_once;
mod seen_from_outside;
mod sessions_lost;
mod shutdown;
mod starting;
mod statements_are_counted;
mod status;
mod takeover_after_death;
mod trust_told;
mod warnings;
mod windows;
