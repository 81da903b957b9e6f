//! The life of the session: wanted, opening, open, lost, wanted again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::index::Mark;
use super::life::{Contention, Going, Holds, Life};
use super::{Node, Now};
use crate::backoff::{reconnect_wait, spread};
use crate::claim::{Claim, ClaimEvent};
use crate::outcome::StopReason;
use crate::protocol::{Action, Notice, Question, Slot, TriggerAnswer, Trouble, TroubleKind};
use crate::time::Mono;

/// A node's clock that differs more than this from the server's is worth a word.
const CLOCK_OFF_FROM: SignedDuration = SignedDuration::from_secs(1);

/// What ending a task that was aborted takes.
const ABORT_TAKES: Duration = Duration::from_millis(500);

/// What is known of the session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) state: State,
    /// The schema was made (if this node makes it).
    pub(super) migrated: bool,
    /// People add jobs: the next one may follow at once.
    pub(super) stay_until: Mono,
    /// An acquisition may have taken what nobody knows of.
    pub(super) doubt: bool,
    /// A look was answered since history was pruned last: a visit, of which pruning may be the end.
    pub(super) visited: bool,
    /// It was asked to make its statements ready.
    pub(super) prepared: bool,
    /// A statement failed: no further one before then.
    pub(super) quiet_until: Mono,
    pub(super) trouble: Option<Trouble>,
    trouble_since: Option<Mono>,
    tries: u32,
    said_clock_off: bool,
}

/// Whether there is a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// None, and none is tried for before then.
    Closed { retry_at: Mono },
    /// On its way.
    Opening,
    /// There, with its backend's process id.
    Open { pid: i32 },
    /// Given up, and nothing is asked on it any more. It stays open until the bodies that ran under its locks have ended (or
    /// `until`): closed earlier, the server would free the locks at once, and a successor would run beside them.
    Leaving { until: Mono, retry_at: Mono },
}

impl Session {
    pub(super) fn new() -> Session {
        Session {
            state: State::Closed { retry_at: Mono::default() },
            migrated: false,
            stay_until: Mono::default(),
            doubt: false,
            visited: false,
            prepared: false,
            quiet_until: Mono::default(),
            trouble: None,
            trouble_since: None,
            tries: 0,
            said_clock_off: false,
        }
    }

    pub(super) fn pid(&self) -> Option<i32> {
        match self.state {
            State::Open { pid } => Some(pid),
            State::Closed { .. } | State::Opening | State::Leaving { .. } => None,
        }
    }
}

impl Node {
    pub(super) fn connected(&mut self, now: Now, server: Timestamp, pid: i32) {
        self.session.state = State::Open { pid };
        self.session.quiet_until = now.mono;
        self.session.prepared = false;
        if !self.leases() {
            self.session.doubt = false;
            self.claim = Claim::None;
        }
        self.learn_clock(now, server);
        self.try_unrecorded_whole(now.mono);
        self.inherit_anew();
        self.look_after_silence();
    }

    /// Takes the server's time, and says once when the node's own is far from it.
    pub(super) fn learn_clock(&mut self, now: Now, server: Timestamp) {
        self.clock.learn(now, server);
        let Some(offset) = self.clock.offset() else { return };
        let off = offset.abs() >= CLOCK_OFF_FROM;
        if off && !self.session.said_clock_off {
            self.say(Notice::ClockOff(offset));
        }
        self.session.said_clock_off = off;
    }

    pub(super) fn connect_failed(&mut self, now: Now, trouble: Trouble) {
        let wait = match trouble.kind {
            // Nobody mends these within a second, and each try stands in the server's log.
            TroubleKind::Refused | TroubleKind::Incompatible | TroubleKind::Pooled => {
                spread(Duration::from_secs(60), self.draw())
            }
            TroubleKind::Unreachable
            | TroubleKind::TooManyConnections
            | TroubleKind::TimedOut
            | TroubleKind::Cancelled
            | TroubleKind::OutOfLocks
            | TroubleKind::NotMigrated
            | TroubleKind::Forbidden
            | TroubleKind::Other => reconnect_wait(self.session.tries, self.settings.seed),
        };
        self.session.state = State::Closed { retry_at: now.mono + wait };
        self.session.tries = self.session.tries.saturating_add(1);
        self.trouble(now, trouble);
    }

    /// The server ended the session, or the way to it is gone: whatever it held is no longer ours.
    pub(super) fn closed(&mut self, now: Now, trouble: Trouble) {
        let asked = self.asked.take().map(|asked| asked.question);
        self.status_tickets.append(&mut self.status_in_flight);
        let tries = self.session.tries;
        let wait = if tries == 0 { Duration::ZERO } else { reconnect_wait(tries, self.settings.seed) };
        let retry_at = match self.session.state {
            State::Leaving { retry_at, .. } => retry_at.max(now.mono + wait),
            State::Closed { .. } | State::Opening | State::Open { .. } => now.mono + wait,
        };
        self.session.state = State::Closed { retry_at };
        self.session.tries = tries.saturating_add(1);
        if self.leases() {
            // A lease is not the connection's: it is ours until it runs out. What an answer that never came has taken is found out
            // on the next connection.
            let took = matches!(asked, Some(Question::TryLocks(_) | Question::Unlock(_)));
            self.session.doubt |= took || self.holds_any_lock();
        } else {
            self.claim = self.claim.step(now.mono, ClaimEvent::Closed, &self.spans);
            self.nothing_held(now, &trouble.text);
        }
        // At rest it is nobody's loss: the next visit opens another.
        if self.wants_session(now.mono) {
            self.trouble(now, trouble);
        }
    }

    /// Throws the session away ourselves; no other is opened before `retry_at`.
    pub(super) fn drop_session(&mut self, now: Now, retry_at: Mono, why: &str) {
        self.asked = None;
        self.status_tickets.append(&mut self.status_in_flight);
        self.claim = Claim::None;
        // Leases that are not believed in any more may be ours still: the next connection finds out.
        self.session.doubt |= self.leases() && self.holds_any_lock();
        let bodies_told = self.nothing_held(now, why);
        if bodies_told {
            self.session.state = State::Leaving { until: now.mono + 2 * self.spans.stop_max, retry_at };
        } else {
            self.session.state = State::Closed { retry_at };
            self.act(Action::Close);
        }
    }

    /// Closes a session that was given up, once no body runs any more under what were its locks.
    pub(super) fn leave(&mut self, now: Now) {
        let State::Leaving { until, retry_at } = self.session.state else { return };
        // Woken late (the process was frozen) it has to end them first.
        let told = |going: &Going| going.stop.is_some_and(|stop| stop.aborted);
        let untold = self.index.all(Mark::Running).any(|slot| !self.job(slot).going().is_some_and(told));
        if untold && now.mono >= until {
            self.session.state = State::Leaving { until: now.mono + ABORT_TAKES, retry_at };
        } else if !self.index.any(Mark::Running) || now.mono >= until {
            self.session.state = State::Closed { retry_at };
            self.act(Action::Close);
        }
    }

    /// Lock lost: stops the bodies, unlocks nothing. True: there are such bodies.
    pub(super) fn nothing_held(&mut self, now: Now, why: &str) -> bool {
        let mut bodies_told = false;
        for slot in self.index.all(Mark::Active).collect::<Vec<_>>() {
            self.job_mut(slot).stand_up = None;
            let held = std::mem::take(&mut self.job_mut(slot).holds);
            let lost = self.job(slot).going().filter(|_| held.lock).map(|going| going.run.epoch);
            if let Some(epoch) = lost {
                bodies_told = true;
                self.say(Notice::LockLost { slot, epoch, why: why.to_owned() });
                self.stop(now, slot, StopReason::LockLost);
            }
            match &self.job(slot).life {
                // Whoever asked is told.
                Life::Granted(_) | Life::Wanted(_) if self.settings.rowless => self.live(slot, Life::Resting),
                Life::Granted(_) | Life::Wanted(_) => self.live(slot, Life::Due),
                Life::Contended(contention) => {
                    let again_at = contention.again_at.max(now.mono);
                    self.live(slot, Life::Contended(Contention { again_at, outside: true, maintain: false }));
                }
                Life::Resting | Life::Due | Life::Running(_) | Life::Ending(_) => {
                    self.refresh_unless_resting(slot, held)
                }
            }
        }
        bodies_told
    }

    fn refresh_unless_resting(&mut self, slot: Slot, held: Holds) {
        let resting = matches!(self.job(slot).life, Life::Resting);
        if resting && held != Holds::default() {
            // It was about to let go; its place in the calendar stays.
            let at = self.job(slot).calendar_at;
            self.rest_until(slot, at);
        }
    }

    /// A statement, or the connection, came to nothing: said once, until the database serves again. Whoever waits for an
    /// answer gets it now.
    pub(super) fn trouble(&mut self, now: Now, trouble: Trouble) {
        for standing in std::mem::take(&mut self.orders) {
            self.act(Action::AnswerOrder(standing.ticket, Err(trouble.clone())));
        }
        for slot in self.index.all(Mark::AskedFor).collect::<Vec<_>>() {
            self.answer_tickets(slot, &TriggerAnswer::Unreachable(trouble.clone()));
            self.wish_no_more(slot);
        }
        let waiting = std::mem::take(&mut self.status_tickets);
        for ticket in std::mem::take(&mut self.status_in_flight).into_iter().chain(waiting) {
            self.act(Action::AnswerStatus(ticket, Err(trouble.clone())));
        }
        let said = self.session.trouble.as_ref().is_some_and(|before| before.kind == trouble.kind);
        if !said {
            self.say(Notice::Unavailable(trouble.clone()));
        }
        self.session.trouble_since.get_or_insert(now.mono);
        self.session.trouble = Some(trouble);
        self.answer_added();
    }

    /// A visit got its answer: all is well again.
    pub(super) fn served(&mut self, now: Now) {
        self.session.tries = 0;
        self.session.trouble = None;
        if let Some(since) = self.session.trouble_since.take() {
            self.say(Notice::Available(now.mono - since));
        }
    }

    /// An acquisition came to nothing, or to nobody knows what. With no run on the session it is thrown away; otherwise it is
    /// asked what it holds, and the runs go on.
    pub(super) fn doubt(&mut self, now: Now, why: &str) {
        if self.leases() || self.holds_any_lock() {
            self.session.doubt = true;
        } else {
            self.drop_session(now, now.mono, why);
        }
    }

    /// What a question in flight is about decides what its failure means.
    pub(super) fn refused(&mut self, now: Now, trouble: Trouble) {
        let Some(asked) = self.asked.take() else { return };
        self.session.quiet_until = now.mono + spread(Duration::from_millis(500), self.draw());
        match asked.question {
            // Whatever belief there is has a deadline of its own; the next ping is due soon enough.
            Question::Ping(_) => self.session.quiet_until = now.mono + self.spans.ping_interval / 2,
            Question::TryLocks(_) | Question::TryWatches(_) => self.acquisition_refused(now, trouble),
            Question::Start { starts, .. } => {
                self.grants_refused(now, starts.iter().map(|start| start.slot), trouble);
            }
            Question::PassOver { slot, .. } => self.grants_refused(now, [slot].into_iter(), trouble),
            Question::Settle { slot, .. } => self.grants_refused(now, [slot].into_iter(), trouble),
            Question::End { ends, .. } => self.ends_refused(now, &ends, trouble),
            Question::Unlock(_) | Question::UnlockWatches(_) | Question::Reconcile { .. } => {
                let wait = reconnect_wait(self.session.tries, self.settings.seed);
                self.session.tries = self.session.tries.saturating_add(1);
                self.drop_session(now, now.mono + wait, &trouble.text);
                // With nothing else to do it is nobody's loss: the lock went with the session, and no visit would take the word
                // back before the next one is due.
                if self.wants_session(now.mono) {
                    self.trouble(now, trouble);
                }
            }
            // The next look finds it unknown again.
            Question::Known(_) => {}
            // History may grow for another hour.
            Question::Prune => self.prune_at = now.mono + self.settings.prune_interval,
            Question::SettleLost(_) => self.forget_lost(now.mono),
            // A visit goes without; what ails the session the next question finds out.
            Question::Prepare => {}
            // The way is not freed, then; the next refusal asks again.
            Question::Maintain(slots) => self.obstacles_seen(now, slots, Vec::new()),
            Question::Unblock(slot) => self.blocker_seen(now, slot, None),
            Question::Late(asked) => {
                self.told_late(asked, Vec::new());
                self.visit_refused(now, trouble);
            }
            Question::StandUp(jobs) => {
                self.not_stood_up(&jobs);
                self.visit_refused(now, trouble);
            }
            Question::Migrate
            | Question::TakeOver(_)
            | Question::Register { .. }
            | Question::Look { .. }
            | Question::Order(..) => {
                self.visit_refused(now, trouble);
            }
        }
    }

    fn acquisition_refused(&mut self, now: Now, trouble: Trouble) {
        self.doubt(now, &trouble.text);
        if trouble.kind == TroubleKind::OutOfLocks {
            if self.out_of_locks_until.is_none() {
                self.say(Notice::OutOfLocks);
            }
            self.out_of_locks_until = Some(now.mono + spread(Duration::from_secs(2), self.draw()));
            return;
        }
        self.trouble(now, trouble);
    }

    /// Nothing can be read or registered: the database is there, but does not serve us. Tried again with growing waits.
    fn visit_refused(&mut self, now: Now, trouble: Trouble) {
        self.session.tries = self.session.tries.saturating_add(1);
        let wait = reconnect_wait(self.session.tries.max(3), self.settings.seed);
        self.session.quiet_until = now.mono + wait;
        if trouble.kind == TroubleKind::NotMigrated {
            self.unregistered.extend(self.slots());
        }
        self.trouble(now, trouble);
        if !self.holds_any_lock() {
            self.drop_session(now, now.mono + wait, "nothing to be had");
        }
    }
}
