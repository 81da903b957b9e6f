//! What time alone changes.

use std::time::Duration;

use super::index::Mark;
use super::life::{Contention, Life};
use super::session::State;
use super::{Node, Now};
use crate::claim::{Claim, ClaimEvent};
use crate::outcome::{BodyEnd, StopReason};
use crate::protocol::{Action, Notice, Slot};
use crate::time::Mono;

/// No sleep is longer: a suspended laptop or a stepped clock costs one piece.
const SLEEP_MAX: Duration = Duration::from_secs(30);
/// So long before an occurrence the session for it is opened: what connecting takes (some ten trips to the server and back, and what
/// the server does for a new session), no lateness consists of.
pub(super) const AHEAD: Duration = Duration::from_millis(500);

impl Node {
    pub(super) fn let_time_pass(&mut self, now: Now) {
        self.trust(now);
        self.leave(now);
        self.wake_the_due(now);
        self.stop_at_shutdown(now);
        for slot in self.index.past_deadline(now.mono) {
            self.deadline_passed(now, slot);
        }
        self.leave_watching_to_others(now.mono);
        self.leave_group_watches(now.mono);
        self.end_of_shutdown(now);
    }

    fn deadline_passed(&mut self, now: Now, slot: Slot) {
        match &self.job(slot).life {
            Life::Running(_) => {
                self.warn_of_what_takes_long(now, slot);
                self.stop_what_takes_too_long(now, slot);
            }
            Life::Ending(_) => self.give_up_recording(slot),
            // Those who wait without the watch look again after their while.
            Life::Contended(_) => self.live(slot, Life::Due),
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) => {}
        }
    }

    /// Ends a claim whose deadline is past.
    pub(super) fn trust(&mut self, now: Now) {
        self.claim = self.claim.step(now.mono, ClaimEvent::Tick, &self.spans);
        if self.claim != Claim::Lost {
            return;
        }
        self.claim = Claim::None;
        let why = "no answer to a ping within the time of trust";
        match self.session.state {
            State::Open { .. } => self.drop_session(now, now.mono, why),
            // A lease outlives its connection, and runs out without one.
            State::Closed { .. } | State::Opening => {
                self.nothing_held(now, why);
            }
            State::Leaving { .. } => {}
        }
    }

    /// Moves what is due from the calendar into the active set.
    fn wake_the_due(&mut self, now: Now) {
        let Some(server) = self.clock.estimate(now) else { return };
        while let Some((at, slot)) = self.index.next_of_calendar() {
            if at > server {
                break;
            }
            self.job_mut(slot).woken = true;
            self.live(slot, Life::Due);
        }
    }

    /// Whoever shuts down has told all bodies in time.
    fn stop_at_shutdown(&mut self, now: Now) {
        if self.shutdown_since.is_some_and(|since| now.mono >= self.drain_until(since)) {
            for slot in self.those(Mark::Running, |job| job.going().is_some_and(|going| going.stop.is_none())) {
                self.stop(now, slot, StopReason::Shutdown);
            }
        }
    }

    fn stop_what_takes_too_long(&mut self, now: Now, slot: Slot) {
        let Some(going) = self.job(slot).going() else { return };
        let (epoch, stop) = (going.run.epoch, going.stop);
        let late = going.times_out_at.is_some_and(|at| now.mono >= at);
        match stop {
            None if late => self.stop(now, slot, StopReason::TimedOut),
            None => {}
            Some(stop) if !stop.aborted && now.mono >= stop.abort_at => {
                self.mark_aborted(slot);
                self.act(Action::AbortBody { slot, epoch });
            }
            Some(stop) if stop.aborted && now.mono >= self.job(slot).abandons_at(stop) => {
                self.abandon(now, slot, epoch)
            }
            Some(_) => {}
        }
    }

    /// One word about a run that takes longer than it should.
    fn warn_of_what_takes_long(&mut self, now: Now, slot: Slot) {
        let mut job = self.job_mut(slot);
        let after = job.definition.warn_after.unwrap_or_default();
        let Life::Running(going) = &mut job.life else { return };
        let epoch = going.run.epoch;
        if going.warn_at.take_if(|at| *at <= now.mono).is_some() {
            drop(job);
            self.say(Notice::RunTakesLong { slot, epoch, after });
        }
    }

    fn mark_aborted(&mut self, slot: Slot) {
        if let Life::Running(going) = &mut self.job_mut(slot).life
            && let Some(stop) = &mut going.stop
        {
            stop.aborted = true;
        }
    }

    /// The body blocks: its run is recorded and let go, and no other begins here until its task has ended.
    fn abandon(&mut self, now: Now, slot: Slot, epoch: i64) {
        let reason = self.job(slot).going().and_then(|going| going.stop).map(|stop| stop.reason);
        self.job_mut(slot).stuck = Some(epoch);
        self.say(Notice::BodyStuck { slot, epoch });
        self.end_run(now, slot, BodyEnd::Aborted, reason);
    }

    /// Without room for another body a watch is of no use here, and keeps those out who have room.
    fn leave_watching_to_others(&mut self, now: Mono) {
        if self.room() > 0 {
            return;
        }
        for slot in self.index.all(Mark::Watching).collect::<Vec<_>>() {
            let again_at = self.outside_at(now);
            self.live(slot, Life::Contended(Contention { again_at, outside: true, maintain: false }));
        }
    }

    /// What is not finished within the grace is left: the locks go with the session, and a later start finds the run lost.
    fn end_of_shutdown(&mut self, now: Now) {
        let Some(since) = self.shutdown_since else { return };
        if now.mono >= since + self.settings.shutdown_grace && !self.finished {
            for slot in self.index.all(Mark::Active).collect::<Vec<_>>() {
                let trouble = self.session.trouble.clone();
                match &self.job(slot).life {
                    Life::Ending(ending) => {
                        let epoch = ending.epoch;
                        self.say(Notice::Unrecorded { slot, epoch, trouble });
                    }
                    Life::Running(going) => self.say(Notice::BodyStuck { slot, epoch: going.run.epoch }),
                    Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) | Life::Contended(_) => {}
                }
            }
            self.finished = true;
            self.act(Action::Close);
            self.act(Action::Finish);
        }
    }

    /// Something will be due at once, and this node, who wakes for it on time, has nothing else to do meanwhile than to connect. Who came too
    /// late the last time wakes later ([`super::rivals`]), and takes nobody's place before.
    pub(super) fn is_due_ahead(&self, now: Now) -> bool {
        let soon = || self.until_due(now).is_some_and(|wait| wait <= AHEAD);
        self.is_punctual() && !self.shutting_down() && soon()
    }

    /// How long until the next job at rest is to be looked at; none: nothing is in the calendar, or nobody knows the server's time yet.
    pub(super) fn until_due(&self, now: Now) -> Option<Duration> {
        self.index.next_of_calendar().and_then(|(at, _)| self.clock.until(now, at))
    }

    /// How long the node may sleep, if nothing happens.
    pub fn wakes_in(&self, now: Now) -> Duration {
        let calendar = self.until_due(now);
        let connects = matches!(self.session.state, State::Closed { .. }) && self.is_punctual();
        let ahead = calendar.filter(|_| connects).and_then(|wait| wait.checked_sub(AHEAD));
        let calendar = ahead.filter(|wait| !wait.is_zero()).or(calendar);
        let session = match self.session.state {
            State::Closed { retry_at } => Some(retry_at),
            State::Opening => None,
            State::Leaving { until, .. } => Some(until),
            State::Open { .. } => Some(self.session.quiet_until),
        };
        let shutdown = self.shutdown_since.map(|since| since + self.settings.shutdown_grace);
        let drain = self.shutdown_since.map(|since| self.drain_until(since));
        let [proves, trusts] = self.claim.wakes_at();
        let stay = matches!(self.session.state, State::Open { .. }).then_some(self.session.stay_until);
        let own = [session, stay, proves, trusts, shutdown, drain, self.out_of_locks_until, self.settles_lost_at()];
        // Each on its own: what is past already and waits for something else must not hide what lies ahead.
        let ahead = own.into_iter().flatten().filter(|at| *at > now.mono);
        let jobs = [self.index.next_alarm(now.mono), self.index.next_deadline()].into_iter().flatten();
        let ahead = ahead.chain(jobs).map(|at| at - now.mono);
        ahead.chain(calendar).min().unwrap_or(SLEEP_MAX).min(SLEEP_MAX)
    }
}
