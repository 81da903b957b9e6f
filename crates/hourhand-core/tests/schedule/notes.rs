//! What a schedule means in words, and what is said about it at registration.

use hourhand_core::schedule::Schedule;

use crate::golden;

#[test]
fn a_schedule_is_described_and_its_traps_are_said_aloud() {
    golden::check("described.txt", |question| {
        let schedule = Schedule::parse(question, "UTC").unwrap_or_else(|error| panic!("{question}: {error}"));
        let mut answer = schedule.describe();
        for note in schedule.notes() {
            answer.push_str("\nnote: ");
            answer.push_str(&note);
        }
        answer
    });
}
