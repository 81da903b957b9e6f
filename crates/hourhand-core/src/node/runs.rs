//! Runs: from the granted lock to the body, and stopping it.

use std::collections::HashSet;
use std::time::Duration;

use jiff::SignedDuration;

use super::index::Mark;
use super::life::{Contention, Going, Grant, Intent, Life, Lost, Permit, Stop, Wish};
use super::{Node, Now};
use crate::backoff::spread;
use crate::claim::ClaimEvent;
use crate::job::Starts;
use crate::occurrence::Skip;
use crate::occurrence::SkipReason;
use crate::outcome::{StopReason, Trigger};
use crate::protocol::{Action, Notice, Proof, Slot, Start, StartAnswer, Started, Trouble, TroubleKind};
use crate::request::Taken;
use crate::time::Mono;

/// How soon a node looks again that was too late for a lease.
const LEASE_LOST_WAIT: Duration = Duration::from_secs(1);
/// How soon a start is tried again that did not come about.
const START_AGAIN: Duration = Duration::from_secs(1);

impl Node {
    /// Locks were tried by a statement sent at `sent`.
    pub(super) fn tried_locks(&mut self, now: Now, sent: Mono, answers: Vec<(Slot, Option<bool>)>) {
        if answers.iter().any(|(_, granted)| granted.is_none()) {
            return self.session_shared(now);
        }
        self.served(now);
        self.out_of_locks_until = None;
        for (slot, granted) in answers {
            if granted == Some(true) {
                self.job_mut(slot).holds.lock = true;
                self.job_mut(slot).said_foreign = None;
                self.claim = self.claim.step(now.mono, ClaimEvent::Granted(sent), &self.spans);
                self.granted(now, slot);
            } else {
                // Its group may be busy: that says nothing of who else runs it.
                if self.job(slot).definition.group.is_none() {
                    self.came_too_late(now.mono, slot);
                }
                self.job_mut(slot).refused_at = Some(now.mono);
                self.lock_refused(now, slot);
            }
        }
    }

    /// Said in words of its own, and once; health shows it until a visit succeeds, and nobody waits for an answer meanwhile.
    fn session_shared(&mut self, now: Now) {
        let text = "the session is shared with others: a transaction pooler stands between".to_owned();
        let trouble = Trouble { kind: TroubleKind::Pooled, text };
        self.say(Notice::SessionShared);
        self.session.trouble = Some(trouble.clone());
        self.trouble(now, trouble);
        self.drop_session(now, now.mono + Duration::from_secs(60), "the session is shared");
    }

    fn granted(&mut self, now: Now, slot: Slot) {
        if self.settings.rowless && matches!(self.job(slot).life, Life::Wanted(_)) {
            return self.run_without_row(now, slot);
        }
        let intent = match &self.job(slot).life {
            Life::Wanted(intent) => Some(**intent),
            // After waiting, what was seen is old: look first.
            Life::Contended(_) => None,
            // Nobody wants it any more (a shutdown came in between): it is let go.
            Life::Resting | Life::Due | Life::Granted(_) | Life::Running(_) | Life::Ending(_) => {
                return;
            }
        };
        self.live(slot, Life::Granted(Box::new(Grant::new(intent))));
    }

    pub(super) fn lock_refused(&mut self, now: Now, slot: Slot) {
        let watching = self.job(slot).holds.watch;
        let maintain = self.wants_maintenance(now, slot);
        let rowless = self.settings.rowless;
        let grouped = self.job(slot).definition.group.is_some();
        let wish = self.job(slot).wish();
        match self.job(slot).life {
            Life::Wanted(_) if rowless => self.lock_taken(slot),
            Life::Wanted(_) if wish == Some(Wish::ByHand) => self.refused_by_hand(now, slot),
            Life::Wanted(_) if !grouped && matches!(wish, Some(Wish::Requested(_))) => self.request_refused(now, slot),
            Life::Wanted(_) => {
                let again_at = if self.leases() { now.mono + spread(LEASE_LOST_WAIT, self.draw()) } else { now.mono };
                let outside = self.leases();
                self.look_less_often(now, slot);
                self.live(slot, Life::Contended(Contention { again_at, outside, maintain: false }));
            }
            Life::Contended(contention) if watching => {
                let again_at = now.mono + Duration::from_secs(1);
                self.job_mut(slot).life = Life::Contended(Contention { again_at, maintain, ..contention });
            }
            Life::Contended(_) | Life::Resting | Life::Due | Life::Granted(_) | Life::Running(_) | Life::Ending(_) => {}
        }
    }

    /// Whoever has the lock has probably taken the request: a look shows it, at once the first time. After that not at the speed of
    /// the line, if nobody is to be seen who has it.
    fn request_refused(&mut self, now: Now, slot: Slot) {
        let before = self.job_mut(slot).request_refused_at.replace(now.mono);
        if before.is_none_or(|before| now.mono - before >= LEASE_LOST_WAIT) {
            return self.live(slot, Life::Due);
        }
        let again_at = now.mono + LEASE_LOST_WAIT;
        self.live(slot, Life::Contended(Contention { again_at, outside: true, maintain: false }));
    }

    /// The watches were tried: one node waits closely, the others look again later.
    pub(super) fn tried_watches(&mut self, now: Now, answers: Vec<(Slot, Option<bool>)>) {
        if answers.iter().any(|(_, granted)| granted.is_none()) {
            return self.session_shared(now);
        }
        self.out_of_locks_until = None;
        for (slot, granted) in answers {
            let outside_at = self.outside_at(now.mono);
            let maintain = self.wants_maintenance(now, slot);
            let mut job = self.job_mut(slot);
            let watches = granted == Some(true);
            job.holds.watch = watches;
            if let Life::Contended(contention) = &mut job.life {
                contention.again_at = if watches { now.mono + Duration::from_secs(1) } else { outside_at };
                contention.outside = !watches;
                contention.maintain = maintain && !watches;
            }
        }
    }

    /// The start that a grant asks for now, if nothing is to be settled first.
    pub(super) fn start_of(&self, slot: Slot, intent: &Intent) -> Start {
        let (due, trigger) = match intent.wish {
            Wish::Occurrence(due) => (Some(due), due.trigger),
            Wish::FollowUp => (None, Trigger::CatchUp),
            Wish::Requested(Taken { again: Some(_), .. }) => (None, Trigger::Backfill),
            Wish::Continuous => (None, Trigger::Continuous),
            // Asked for it is the same run, only sooner; but not one of a definition that has been replaced.
            Wish::ByHand | Wish::Requested(_) if self.job(slot).is_continuous() && !self.job(slot).stood_down => {
                (None, Trigger::Continuous)
            }
            Wish::ByHand | Wish::Requested(_) | Wish::PassOver(_) | Wish::Record => (None, Trigger::Manual),
        };
        let skip = due.and_then(|due| due.skip);
        let taken = match intent.wish {
            Wish::Requested(taken) => Some(taken),
            Wish::Occurrence(_)
            | Wish::FollowUp
            | Wish::Continuous
            | Wish::ByHand
            | Wish::PassOver(_)
            | Wish::Record => None,
        };
        Start {
            slot,
            occurrence: due.map(|due| due.occurrence),
            seen: intent.seen,
            trigger,
            skipped: skip.map_or(0, |skip| skip.count),
            skipped_for: skip.map(|skip| skip.newest),
            reason: if self.job(slot).stood_up { SkipReason::StoodDown } else { SkipReason::Coalesced },
            window_end: due.map_or(taken.and_then(|taken| taken.again?.window_end), |due| due.window_end),
            taken,
        }
    }

    pub(super) fn settled(&mut self, now: Now, slot: Slot, lost: Lost, found: Option<(u32, bool)>) {
        if let Some((deaths, gave_up)) = found
            && lost.died
        {
            self.say_holder_died(slot, lost.epoch, deaths, gave_up);
        }
        let wait = if found.is_some() { Duration::ZERO } else { START_AGAIN };
        self.look_again(slot, now.mono + wait);
    }

    pub(super) fn say_holder_died(&mut self, slot: Slot, epoch: i64, deaths: u32, gave_up: bool) {
        self.job_mut(slot).gave_up |= gave_up;
        self.say(Notice::HolderDied { slot, epoch, deaths, gave_up });
        if gave_up {
            self.tell_gave_up(slot, epoch, deaths);
        }
    }

    pub(super) fn passed_over(&mut self, now: Now, slot: Slot, skip: Skip, done: bool) {
        if done {
            self.say(Notice::PassedOver { slot, skip });
        }
        let wait = if done { Duration::ZERO } else { START_AGAIN };
        self.look_again(slot, now.mono + wait);
    }

    /// Looks at the row again, under the lock.
    fn look_again(&mut self, slot: Slot, retry_at: Mono) {
        if let Life::Granted(grant) = &mut self.job_mut(slot).life {
            grant.tried = grant.intent.take();
            grant.retry_at = retry_at;
        }
    }

    pub(super) fn started(&mut self, now: Now, starts: Vec<Start>, answers: Vec<StartAnswer>) {
        // Whatever did start has to be known, whatever else is wrong.
        let shared = answers.contains(&StartAnswer::NotOwned);
        for (start, answer) in starts.into_iter().zip(answers) {
            match answer {
                StartAnswer::Started(run) => self.run(now, &start, run),
                StartAnswer::NotStarted => {
                    let alone = matches!(&self.job(start.slot).life, Life::Granted(grant) if grant.alone);
                    self.look_again(start.slot, if alone { now.mono + START_AGAIN } else { now.mono });
                }
                StartAnswer::NotOwned => {}
            }
        }
        if shared {
            self.session_shared(now);
        }
    }

    pub(super) fn run(&mut self, now: Now, start: &Start, run: Started) {
        let Start { slot, occurrence, trigger, skipped, taken, .. } = *start;
        let (epoch, takeover, since) = (run.epoch, run.takeover, run.started_at);
        let timeout = self.job(slot).definition.timeout;
        let after = |length: SignedDuration| Duration::try_from(length).ok().map(|length| now.mono + length);
        let (times_out_at, warn_at) = (timeout.and_then(after), self.job(slot).definition.warn_after.and_then(after));
        let failures = self.job(slot).facts.as_ref().map_or(0, |facts| facts.failures);
        (self.job_mut(slot).permit, self.job_mut(slot).waiting) = (Permit::None, None);
        self.job_mut(slot).said_row_locked = false;
        self.job_mut(slot).stood_up &= occurrence.is_none();
        self.came_in_time(slot);
        self.live(
            slot,
            Life::Running(Box::new(Going {
                run: run.clone(),
                occurrence,
                trigger,
                since: now.mono,
                times_out_at,
                warn_at,
                failures,
                stop: None,
            })),
        );
        if let Some(facts) = &mut self.job_mut(slot).facts {
            facts.request =
                facts.request.filter(|request| taken.is_none_or(|taken| taken.id != request.id || !taken.last));
        }
        let occurrence = occurrence.or(taken.and_then(|taken| taken.again).map(|again| again.occurrence));
        self.say(Notice::RunStarted { slot, epoch, trigger, occurrence, takeover, skipped });
        self.act(Action::StartBody { slot, occurrence, trigger, run });
        let asked_for = matches!(trigger, Trigger::Manual | Trigger::Continuous)
            || self.job(slot).definition.starts != Starts::BySchedule;
        self.answer_started(slot, asked_for, epoch, since);
    }

    /// A start (or what has to be settled before) was refused. It may have come about all the same: the look under the lock
    /// shows it, as a run of our own session without an end.
    pub(super) fn grants_refused(&mut self, now: Now, slots: impl Iterator<Item = Slot>, trouble: Trouble) {
        for slot in slots {
            let waited = trouble.kind == TroubleKind::Cancelled;
            if let Life::Granted(grant) = &mut self.job_mut(slot).life {
                let alone = grant.alone || grant.intent.is_some_and(|intent| intent.lost.is_some());
                grant.blocked = alone && waited;
            }
            self.look_again(slot, now.mono + START_AGAIN);
        }
        if trouble.kind != TroubleKind::Cancelled {
            self.trouble(now, trouble);
        }
    }

    pub(super) fn pinged(&mut self, now: Now, sent: Mono, asked: &[(Slot, i64)], proof: Proof) {
        let owned: HashSet<Slot> = proof.owned.into_iter().collect();
        let complete = proof.marked && !proof.read_only && asked.iter().all(|(slot, _)| owned.contains(slot));
        self.claim = self.claim.step(now.mono, ClaimEvent::PingAnswered { sent, complete }, &self.spans);
        if !proof.marked {
            // The next session is probed before it is believed.
            self.say(Notice::SessionShared);
        }
        if !complete {
            let why = match (proof.marked, proof.read_only) {
                (false, _) => "the session is not ours any more",
                (true, true) => "the server has become read-only",
                (true, false) => "the lock is gone from pg_locks",
            };
            return self.drop_session(now, now.mono, why);
        }
        // While an end is refused all is not well, whatever a ping says: the two would take turns at saying so.
        if !self.index.any(Mark::Ending) {
            self.served(now);
        }
        for (slot, epoch) in asked {
            if proof.cancelled.contains(epoch) {
                self.stop(now, *slot, StopReason::Cancelled);
            }
        }
    }

    /// Tells a body to stop, for the first reason that comes; a lost lock shortens the grace of an earlier one.
    pub(super) fn stop(&mut self, now: Now, slot: Slot, reason: StopReason) {
        let own_grace = Duration::try_from(self.job(slot).definition.stop_grace).unwrap_or(Duration::ZERO);
        let grace = match reason {
            StopReason::LockLost => own_grace.min(self.spans.stop_max),
            StopReason::Shutdown | StopReason::TimedOut | StopReason::Cancelled => own_grace,
        };
        let abort_at = now.mono + grace;
        let mut job = self.job_mut(slot);
        let Life::Running(going) = &mut job.life else { return };
        let epoch = going.run.epoch;
        match &mut going.stop {
            Some(stop) => {
                stop.abort_at = stop.abort_at.min(abort_at);
                if reason == StopReason::LockLost {
                    stop.reason = reason;
                }
            }
            None => {
                going.stop = Some(Stop { reason, abort_at, aborted: false });
                drop(job);
                self.act(Action::StopBody { slot, epoch, reason });
            }
        }
    }

    /// Stops accepting work; runs under way have the grace, less what stopping them takes.
    pub(super) fn shut_down(&mut self, now: Now) {
        if self.shutdown_since.is_some() {
            return;
        }
        self.shutdown_since = Some(now.mono);
        self.answer_added();
        for slot in self.slots() {
            self.answer_tickets(slot, &crate::protocol::TriggerAnswer::ShuttingDown);
            match &self.job(slot).life {
                // It would not end by itself, and is to run elsewhere at once.
                Life::Running(_) if self.job(slot).is_continuous() => self.stop(now, slot, StopReason::Shutdown),
                Life::Running(_) | Life::Ending(_) => {}
                Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) | Life::Contended(_) => {
                    self.rest_until(slot, None);
                }
            }
        }
    }

    /// When the runs under way are told to stop, after a shutdown began at `since`.
    pub(super) fn drain_until(&self, since: Mono) -> Mono {
        let graces = self.index.all(Mark::Running).map(|slot| self.job(slot).definition.stop_grace);
        let longest = graces.max().unwrap_or(SignedDuration::ZERO);
        let longest = Duration::try_from(longest).unwrap_or(Duration::ZERO);
        // What is left after stopping is for recording.
        let reserve = self.settings.shutdown_grace / 10;
        since + self.settings.shutdown_grace.saturating_sub(longest + reserve)
    }
}
