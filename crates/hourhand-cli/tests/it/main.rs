//! The command as a script sees it: the built binary, its words, its exit status, on a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test has nothing better to do with an error")]
#![allow(unreachable_pub, reason = "one test binary: everything in it is for itself")]

mod command;
mod scene;
mod world;

mod a_command_ends_with_its_lock;
mod asked_from_elsewhere;
mod by_hand;
mod dashboard_by_itself;
mod django;
mod exec_on_a_terminal;
mod exec_runs_one_command;
mod exit_status;
mod first_process_and_service_manager;
mod guide_to_exec;
mod guide_to_the_command;
mod guides;
mod json_is_a_promise;
mod locks_of_everybody;
mod migrations;
mod passwords_stay_secret;
#[allow(dead_code, reason = "shared with the library's faults, which use the rest of it")]
#[path = "../../../hourhand/tests/faults/pooler.rs"]
mod pooler;
mod seeing_and_acting;
mod sidecar;
mod what_is_wrong;
mod words_for_shells_and_readers;
