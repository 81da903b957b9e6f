//! Answers: each is handed, with its question, to the room that asked.

use std::collections::HashSet;
use std::time::Duration;

use super::index::Mark;
use super::life::Lost;
use super::{Asked, Node, Now};
use crate::backoff::spread;
use crate::claim::ClaimEvent;
use crate::protocol::{Answer, Notice, Question, Slot};

impl Node {
    pub(super) fn answered(&mut self, now: Now, answer: Answer) {
        let Some(Asked { question, at }) = self.asked.take() else { return };
        match (question, answer) {
            (Question::Migrate, Answer::Migrated) => {
                self.session.migrated = true;
                self.served(now);
            }
            (Question::Migrate, Answer::MigrationBusy) => {
                self.session.quiet_until = now.mono + spread(Duration::from_millis(200), self.draw());
            }
            (Question::Register { jobs, .. }, Answer::Registered(others)) => self.registration_done(now, jobs, others),
            (Question::TakeOver(asked), Answer::TookOver(done)) => self.took_over(now, asked, done),
            (Question::StandUp(jobs), Answer::StoodUp(done)) => self.stood_up(now, jobs, done),
            (Question::Look { jobs, .. }, Answer::Looked { now: server, facts, requested, lost }) => {
                self.served(now);
                self.look_sent = at;
                self.looked(now, server, jobs.into_iter().zip(facts).collect());
                self.found_requested(now.mono, requested);
                if let Some(lost) = lost {
                    self.found_lost(now.mono, &lost);
                }
                self.answer_status(now);
            }
            (Question::TryLocks(slots), Answer::Tried(granted)) => {
                self.tried_locks(now, at, slots.into_iter().zip(granted).collect());
            }
            (Question::TryWatches(slots), Answer::Tried(granted)) => {
                self.tried_watches(now, slots.into_iter().zip(granted).collect());
            }
            (Question::Settle { slot, epoch, died }, Answer::Settled(found)) => {
                self.settled(now, slot, Lost { epoch, died }, found);
            }
            (Question::SettleLost(_), Answer::SettledLost(settled)) => self.lost_settled(now, settled),
            (Question::PassOver { slot, skip, .. }, Answer::PassedOver(done)) => {
                self.passed_over(now, slot, skip, done)
            }
            (Question::Start { starts, .. }, Answer::Started(answers)) => self.started(now, starts, answers),
            (Question::Ping(asked), Answer::Pinged(proof)) => self.pinged(now, at, &asked, proof),
            (Question::End { ends, .. }, Answer::Ended(answers)) => self.ended(now, ends, answers),
            (Question::Maintain(slots), Answer::Obstacles(seen)) => self.obstacles_seen(now, slots, seen),
            (Question::Unblock(slot), Answer::Blocker(blocker)) => self.blocker_seen(now, slot, blocker),
            (Question::Prune, Answer::Pruned(rows)) => self.pruned(now, rows),
            (Question::Prepare, Answer::Prepared) => {}
            (Question::Order(slot, _), Answer::Ordered(done)) => self.order_done(now, slot, done),
            (Question::Late(asked), Answer::Late(first)) => self.told_late(asked, first),
            (Question::Known(_), Answer::Known) => {}
            (Question::Unlock(slots), Answer::Unlocked(all_ours)) => self.unlocked(now, slots, all_ours),
            (Question::UnlockWatches(slots), Answer::Unlocked(_)) => {
                for slot in slots {
                    self.job_mut(slot).holds.watch = false;
                }
            }
            (Question::Reconcile { locks, watches }, Answer::Reconciled { complete }) => {
                self.reconciled(now, &locks, &watches, complete);
            }
            (question, answer) => unreachable!("answer {answer:?} to {question:?}"),
        }
    }

    /// The session holds what was to be kept, and nothing else.
    fn reconciled(&mut self, now: Now, locks: &[Slot], watches: &[Slot], complete: bool) {
        self.session.doubt = false;
        let kept = |slots: &[Slot]| slots.iter().copied().collect::<HashSet<Slot>>();
        let (locks, watches) = (kept(locks), kept(watches));
        for slot in self.those(Mark::Active, |job| job.holds != Default::default()) {
            let mut job = self.job_mut(slot);
            job.holds.lock &= locks.contains(&slot);
            job.holds.watch &= watches.contains(&slot);
        }
        if !complete {
            self.drop_session(now, now.mono, "the lock is gone");
        }
    }

    /// A full batch is followed by another one on the same visit, or on the next.
    fn pruned(&mut self, now: Now, rows: usize) {
        if rows == 0 {
            self.session.visited = false;
            self.prune_at = now.mono + self.settings.prune_interval;
        }
    }

    fn registration_done(&mut self, now: Now, jobs: Vec<Slot>, others: Vec<Slot>) {
        self.served(now);
        for slot in jobs {
            self.unregistered.remove(&slot);
            self.job_mut(slot).registered_before = true;
            let other = others.contains(&slot);
            if other && !self.job(slot).other_key {
                self.say(Notice::OtherKey(slot));
            }
            self.job_mut(slot).other_key = other;
        }
        self.answer_added();
    }

    fn unlocked(&mut self, now: Now, slots: Vec<Slot>, all_ours: bool) {
        for slot in slots {
            self.job_mut(slot).holds.lock = false;
        }
        if !all_ours {
            return self.drop_session(now, now.mono, "a lock to be let go was not ours");
        }
        if !self.holds_any_lock() {
            self.claim = self.claim.step(now.mono, ClaimEvent::Released, &self.spans);
        }
    }

    /// Everybody who had asked for the status before this look was sent gets its answer.
    fn answer_status(&mut self, now: Now) {
        let Some(server) = self.clock.estimate(now) else { return };
        let tickets = std::mem::take(&mut self.status_in_flight);
        if tickets.is_empty() {
            return;
        }
        let facts: Vec<_> = self.jobs.iter().flatten().map(|job| job.facts.clone()).collect();
        for ticket in tickets {
            self.act(crate::protocol::Action::AnswerStatus(ticket, Ok((server, facts.clone()))));
        }
    }
}
