//! The next question: the most urgent that the lives call for, for all jobs that need the same.

use std::time::Duration;

use super::index::Mark;
use super::life::{Job, Life, Permit, Wish};
use super::session::State;
use super::timers::AHEAD;
use super::{Asked, Node, Now};
use crate::claim::ClaimEvent;
use crate::protocol::{Action, Question, Slot};
use crate::time::Mono;

/// A look that is older than this is repeated before anything follows from it.
const WISH_HOLDS_FOR: Duration = Duration::from_secs(5);

/// Jobs that one statement is about, at most: it is over well within its time, and what it brings needs little room, whatever waits.
pub(super) const AT_ONCE: usize = 1000;

impl Node {
    pub(super) fn plan(&mut self, now: Now) {
        if self.finished {
            return;
        }
        match self.session.state {
            State::Opening | State::Leaving { .. } => {}
            State::Closed { retry_at } => self.plan_closed(now, retry_at),
            State::Open { .. } => self.plan_open(now),
        }
    }

    fn plan_closed(&mut self, now: Now, retry_at: Mono) {
        if !self.wants_session(now.mono) && !self.is_due_ahead(now) {
            return self.finish_if_done();
        }
        // The lock that a body of ours ran under is for the server to free, or for us once the body has ended: ending the
        // former session earlier would let a successor start beside it.
        let cut_off = self.index.any(Mark::Running);
        if now.mono >= retry_at {
            self.session.state = State::Opening;
            self.act(Action::Connect { end_former: !cut_off });
        }
    }

    fn plan_open(&mut self, now: Now) {
        if self.asked.is_some() {
            return;
        }
        match self.next_question(now) {
            Some(question) => {
                if matches!(question, Question::Ping(_)) {
                    self.claim = self.claim.step(now.mono, ClaimEvent::PingSent, &self.spans);
                }
                self.session.prepared |= question == Question::Prepare;
                self.asked = Some(Asked { question: question.clone(), at: now.mono });
                self.act(Action::Ask(question));
            }
            None => self.close_if_at_rest(now),
        }
    }

    /// Something calls for a session now.
    pub(super) fn wants_session(&self, now: Mono) -> bool {
        if self.shutting_down() {
            return self.index.any(Mark::Ending);
        }
        self.settings.resident
            || self.wants_registration(now)
            || !self.status_tickets.is_empty()
            || !self.orders.is_empty()
            || self.settles_lost_at().is_some_and(|at| at <= now)
            || self.wanted_by_a_job()
    }

    fn wanted_by_a_job(&self) -> bool {
        self.index.all(Mark::Active).any(|slot| {
            let job = self.job(slot);
            let life = match &job.life {
                Life::Due => job.heir_of.is_none(),
                Life::Wanted(_) | Life::Granted(_) | Life::Ending(_) => true,
                Life::Running(going) => going.stop.is_none_or(|stop| !stop.aborted),
                Life::Contended(_) => !job.waits_outside(),
                Life::Resting => false,
            };
            life || !job.tickets.is_empty()
        })
    }

    /// Those that begin apart from those whose rows are gone: what the former find registered otherwise is older, for the latter newer.
    fn register(&self) -> Question {
        let before = |slot: &Slot| self.job(*slot).registered_before;
        let ready = || self.unregistered.iter().copied().filter(|slot| self.ready_to_register(*slot));
        let replace = ready().next().is_none_or(|first| !before(&first));
        let alike = ready().filter(|slot| before(slot) != replace);
        Question::Register { jobs: alike.take(AT_ONCE).collect(), replace }
    }

    /// The order is the order of urgency: what proves, records and lets go comes before what takes.
    fn next_question(&mut self, now: Now) -> Option<Question> {
        if self.session.doubt && self.may_reconcile() {
            return Some(self.reconcile());
        }
        if self.claim.wants_ping(now.mono) {
            return Some(Question::Ping(self.held_runs()));
        }
        if now.mono < self.session.quiet_until {
            return None;
        }
        if self.wants_registration(now.mono) && !self.shutting_down() {
            let migrate = self.settings.migrate && !self.session.migrated;
            let next = self.take_over(now.mono).unwrap_or_else(|| self.register());
            return Some(if migrate { Question::Migrate } else { next });
        }
        if let Some(order) = self.order() {
            return Some(order);
        }
        let (ends, alone) = self.ends_to_record(now);
        if !ends.is_empty() {
            return Some(Question::End { ends, alone });
        }
        if let Some(question) = self.maintain() {
            return Some(question);
        }
        self.let_go()
            .or_else(|| self.stand_up())
            .or_else(|| self.settle_or_start(now.mono))
            .or_else(|| self.tell_late(now.mono))
            .or_else(|| self.take(now))
            .or_else(|| self.make_known())
            .or_else(|| self.settle_lost(now.mono))
            .or_else(|| self.prune(now.mono))
            .or_else(|| self.prepare(now))
    }

    /// Nothing else is to be asked, and a visit will come: what it sends is planned before it is due, not after.
    fn prepare(&self, now: Now) -> Option<Question> {
        let of_use = !self.leases() && !self.settings.rowless && !self.shutting_down();
        (of_use && !self.session.prepared && self.keeps_session(now)).then_some(Question::Prepare)
    }

    /// Whether the session stays, with nothing to do, for what is due within the linger.
    fn keeps_session(&self, now: Now) -> bool {
        let linger = self.settings.linger.max(AHEAD);
        let soon = || self.until_due(now).is_some_and(|wait| wait <= linger);
        !self.shutting_down() && (self.settings.resident || soon())
    }

    /// A lease that is not believed in any more may still be ours: it is not let go before the body that ran under it has ended,
    /// and that end is on record.
    fn may_reconcile(&self) -> bool {
        let open = |job: &Job| !job.holds.lock && matches!(job.life, Life::Running(_) | Life::Ending(_));
        !self.leases() || !self.index.all(Mark::Active).any(|slot| open(self.job(slot)))
    }

    fn reconcile(&self) -> Question {
        let locks = self.those(Mark::Lock, Job::needs_lock);
        let watches = self.those(Mark::Watch, Job::needs_watch);
        Question::Reconcile { locks, watches }
    }

    /// Every lock held, with its run's epoch (0: none yet).
    fn held_runs(&self) -> Vec<(Slot, i64)> {
        let epoch = |slot| self.job(slot).going().map_or(0, |going| going.run.epoch);
        self.index.all(Mark::Lock).map(|slot| (slot, epoch(slot))).collect()
    }

    fn let_go(&self) -> Option<Question> {
        let locks: Vec<Slot> = self.index.all(Mark::LockToSpare).take(AT_ONCE).collect();
        if !locks.is_empty() {
            return Some(Question::Unlock(locks));
        }
        let watches: Vec<Slot> = self.index.all(Mark::WatchToSpare).collect();
        (!watches.is_empty()).then_some(Question::UnlockWatches(watches))
    }

    fn settle_or_start(&self, now: Mono) -> Option<Question> {
        let mut starts = Vec::new();
        for slot in self.index.all(Mark::Granted) {
            let Life::Granted(grant) = &self.job(slot).life else { continue };
            let Some(intent) = grant.intent.as_ref().filter(|_| grant.retry_at <= now) else { continue };
            if let Some(lost) = intent.lost {
                return Some(Question::Settle { slot, epoch: lost.epoch, died: lost.died });
            }
            match intent.wish {
                Wish::PassOver(skip) => return Some(Question::PassOver { slot, seen: intent.seen, skip }),
                // What was to be recorded is; the next look lets go.
                Wish::Record => return Some(self.look_at_jobs(vec![slot], now)),
                Wish::Occurrence(_) | Wish::ByHand | Wish::Requested(_) | Wish::FollowUp | Wish::Continuous => {}
            }
            let start = self.start_of(slot, intent);
            if grant.alone {
                return Some(Question::Start { starts: vec![start], alone: true });
            }
            starts.push(start);
            if starts.len() == AT_ONCE {
                break;
            }
        }
        (!starts.is_empty()).then_some(Question::Start { starts, alone: false })
    }

    /// Never at rest, and never while a lock is held: a visit is made for runs, and this can wait. But for a continuous body it
    /// would wait for ever: its run counts as a visit.
    fn prune(&self, now: Mono) -> Option<Question> {
        if now < self.prune_at || self.shutting_down() {
            return None;
        }
        let continuous = |slot: Slot| self.job(slot).is_continuous() && self.job(slot).going().is_some();
        let runs = self.index.all(Mark::Running).any(continuous);
        let busy = !self.index.all(Mark::Lock).all(continuous);
        ((self.session.visited || runs) && !busy).then_some(Question::Prune)
    }

    /// Looks, locks, watches.
    fn take(&mut self, now: Now) -> Option<Question> {
        self.wait_for_groups(now);
        let now = now.mono;
        self.look_again_at_what_waited(now);
        // What is enough for one statement does not wait until all others are looked at.
        let enough = self.index.count(Mark::Wanted) >= AT_ONCE;
        let locks = |node: &Self| Some(node.locks_to_try(now)).filter(|locks| !locks.is_empty());
        if let Some(locks) = locks(self).filter(|_| enough && self.status_tickets.is_empty()) {
            return Some(Question::TryLocks(locks));
        }
        let looks = if self.status_tickets.is_empty() { self.to_look_at(now) } else { self.slots() };
        self.status_in_flight.append(&mut self.status_tickets);
        if !looks.is_empty() {
            return Some(self.look_at_jobs(looks, now));
        }
        if let Some(locks) = locks(self) {
            return Some(Question::TryLocks(locks));
        }
        let watches = self.those(
            Mark::Watching,
            |job| matches!(&job.life, Life::Contended(c) if !job.holds.watch && c.again_at <= now),
        );
        (!watches.is_empty()).then_some(Question::TryWatches(watches))
    }

    /// A wish that waited for room is old: by now another occurrence may be the current one.
    fn look_again_at_what_waited(&mut self, now: Mono) {
        if self.room() > 0 && !self.settings.rowless {
            for slot in self.those(Mark::Wanted, |job| now - job.looked_at >= WISH_HOLDS_FOR) {
                self.live(slot, Life::Due);
            }
        }
    }

    /// How many more bodies may run at once.
    pub(super) fn room(&self) -> usize {
        let taken: usize = [Mark::Granted, Mark::Running, Mark::Ending].map(|life| self.index.count(life)).iter().sum();
        self.settings.runs_max.saturating_sub(taken)
    }

    /// At most as many as there is room for bodies; those who watch have waited longest.
    fn locks_to_try(&self, now: Mono) -> Vec<Slot> {
        if self.out_of_locks_until.is_some_and(|until| until > now) {
            return Vec::new();
        }
        let watched = self
            .those(Mark::Watch, |job| matches!(&job.life, Life::Contended(contention) if contention.again_at <= now));
        let mut locks: Vec<Slot> = self.index.all(Mark::Wanted).chain(watched).collect();
        locks.sort_unstable();
        locks.retain(|slot| !self.job(*slot).holds.lock && !self.group_busy(*slot));
        locks.truncate(self.room().min(AT_ONCE));
        locks
    }

    /// Nothing at rest: with nothing due within the linger the session is let go.
    fn close_if_at_rest(&mut self, now: Now) {
        let busy = self.index.all(Mark::Active).any(|slot| {
            let job = self.job(slot);
            let rests =
                matches!(job.life, Life::Resting) && job.holds == Default::default() && job.permit != Permit::Asking;
            let waits_to_inherit = matches!(job.life, Life::Due) && job.heir_of.is_some();
            let only_unrecorded = (rests || waits_to_inherit) && job.tickets.is_empty();
            let waits_outside = job.waits_outside() && job.tickets.is_empty();
            !(waits_outside || only_unrecorded)
        });
        if busy || now.mono < self.session.stay_until || self.keeps_session(now) {
            return;
        }
        self.session.state = State::Closed { retry_at: now.mono };
        self.act(Action::Close);
        self.finish_if_done();
    }

    pub(super) fn finish_if_done(&mut self) {
        let done = self.shutting_down()
            && self.index.all(Mark::Active).all(|slot| matches!(self.job(slot).life, Life::Resting | Life::Due));
        if done && !self.finished {
            self.finished = true;
            self.act(Action::Finish);
        }
    }
}
