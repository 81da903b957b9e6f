//! Ends: a body's end is made durable first, then the lock is let go.

use std::time::Duration;

use jiff::SignedDuration;

use super::index::Mark;
use super::life::{Ending, Job, Life};
use super::looked::wish;
use super::plan::AT_ONCE;
use super::{Node, Now};
use crate::backoff::spread;
use crate::continuous;
use crate::job::Starts;
use crate::occurrence::overlapped;
use crate::outcome::{BodyEnd, Outcome, StopReason, Trigger, judge};
use crate::protocol::{End, EndAnswer, EndForm, Notice, Slot, Trouble, TroubleKind};
use crate::time::Mono;

impl Node {
    pub(super) fn body_ended(&mut self, now: Now, slot: Slot, epoch: i64, end: BodyEnd) {
        if !self.has(slot) {
            return;
        }
        if self.job(slot).stuck == Some(epoch) {
            self.job_mut(slot).stuck = None;
            return;
        }
        let Some(going) = self.job(slot).going().filter(|going| going.run.epoch == epoch) else { return };
        let stopped = going.stop.map(|stop| stop.reason);
        let runtime_gone = end == BodyEnd::Aborted && stopped.is_none();
        self.end_run(now, slot, end, stopped);
        if runtime_gone && !self.shutting_down() {
            // Nothing can run here any more; tried again at once, it would only be cut again.
            self.say(Notice::RuntimeGone);
            self.shut_down(now);
        }
    }

    /// The run is over: its verdict is to be recorded.
    pub(super) fn end_run(&mut self, now: Now, slot: Slot, end: BodyEnd, stopped: Option<StopReason>) {
        let job = self.job(slot);
        let Some(going) = job.going() else { return };
        let definition = &job.definition;
        let rowless = self.settings.rowless;
        let attempt = going.run.attempt;
        let mut verdict = if going.trigger == Trigger::Continuous {
            let lasted = SignedDuration::try_from(now.mono - going.since).unwrap_or(SignedDuration::MAX);
            continuous::judge_run(end, stopped, definition, (attempt, lasted))
        } else {
            judge(end, stopped, definition.completes, attempt, &definition.retry)
        };
        if !going.trigger.is_by_schedule() && going.trigger != Trigger::Continuous {
            verdict.handled = true;
        }
        if verdict.counts && !verdict.handled {
            verdict.backoff += definition.retry.jitter_of(going.run.epoch.cast_unsigned());
        }
        let (epoch, occurrence, failures) = (going.run.epoch, going.occurrence, going.failures);
        if rowless {
            return self.end_without_record(slot, epoch, verdict);
        }
        let (since, retry_at) = (now.mono, now.mono);
        let ending =
            Ending { epoch, occurrence, failures, verdict, since, retry_at, form: EndForm::Full, alone: false };
        self.live(slot, Life::Ending(Box::new(ending)));
    }

    /// The record of an end, as of now.
    pub(super) fn end_of(&self, now: Now, slot: Slot, ending: &Ending) -> End {
        let counted = ending.occurrence.filter(|_| self.job(slot).definition.starts == Starts::BySchedule);
        let times = counted.zip(self.clock.at_least(now));
        let skip = times.and_then(|(occurrence, server)| overlapped(&self.job(slot).definition, occurrence, server));
        let (skipped, skipped_for) = (skip.map_or(0, |skip| skip.count), skip.map(|skip| skip.newest));
        End { slot, epoch: ending.epoch, verdict: ending.verdict.clone(), form: ending.form, skipped, skipped_for }
    }

    pub(super) fn ended(&mut self, now: Now, ends: Vec<End>, answers: Vec<EndAnswer>) {
        self.served(now);
        for (end, answer) in ends.into_iter().zip(answers) {
            match answer {
                EndAnswer::Recorded { outcome, handled_until, open_for, not_before } => {
                    self.recorded(&end, outcome);
                    if let Some(facts) = &mut self.job_mut(end.slot).facts {
                        *facts = facts.after_end(end.epoch, handled_until, open_for, not_before);
                    }
                    self.ending_done(now, end.slot, end.epoch);
                }
                EndAnswer::RecordedBefore { outcome } => {
                    self.recorded(&end, outcome);
                    self.ending_done(now, end.slot, end.epoch);
                }
                EndAnswer::Superseded => {
                    self.say(Notice::RunSuperseded { slot: end.slot, epoch: end.epoch });
                    self.ending_done(now, end.slot, end.epoch);
                }
                EndAnswer::RowLocked => self.end_again(now, end.slot, |ending| ending.alone = true),
            }
        }
    }

    fn recorded(&mut self, end: &End, outcome: String) {
        if end.verdict.outcome != Outcome::Lost {
            self.job_mut(end.slot).gave_up = false;
        }
        let succeeded = outcome == Outcome::Succeeded.as_str();
        let stands = outcome.clone();
        self.say(Notice::RunEnded {
            slot: end.slot,
            epoch: end.epoch,
            error: end.verdict.error.clone().filter(|_| !succeeded),
            outcome,
            transient: end.verdict.transient,
            skipped: if end.verdict.handled { end.skipped } else { 0 },
        });
        self.tell_end(end, &stands);
    }

    /// Durable, or no longer ours to write: the lock is let go. If the row as the end left it says that there is nothing to do
    /// for now, no further look is needed.
    fn ending_done(&mut self, now: Now, slot: Slot, epoch: i64) {
        self.job_mut(slot).said_row_locked = false;
        if self.job_mut(slot).unrecorded.take_if(|unrecorded| unrecorded.epoch == epoch).is_some() {
            // Until now it kept what is due waiting.
            if matches!(self.job(slot).life, Life::Resting) && !self.shutting_down() && self.stays(slot) {
                return self.live(slot, Life::Due);
            }
            return;
        }
        if self.shutting_down() || !self.stays(slot) {
            return self.rest_until(slot, None);
        }
        let hinted = std::mem::take(&mut self.job_mut(slot).hinted);
        let known = self.job(slot).facts.clone();
        let known = known.filter(|facts| !hinted && facts.request.is_none() && facts.open_run().is_none());
        // Whether a bounded window is behind only the row tells.
        let known = known.filter(|_| self.job(slot).definition.window_max.is_none());
        match known.map(|facts| wish(self.decide(now, slot, &facts), false, None)) {
            Some(Err(wait)) => self.wait(now, slot, wait),
            Some(Ok(_)) | None => self.live(slot, Life::Due),
        }
    }

    fn end_again(&mut self, now: Now, slot: Slot, change: impl FnOnce(&mut Ending)) {
        let wait = spread(Duration::from_millis(500), self.draw());
        let mut job = self.job_mut(slot);
        let Job { life, unrecorded, .. } = &mut *job;
        let ending = match (life, unrecorded) {
            (Life::Ending(ending), _) => &mut **ending,
            (_, Some(unrecorded)) => &mut **unrecorded,
            (
                Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) | Life::Running(_) | Life::Contended(_),
                None,
            ) => return,
        };
        change(ending);
        // A locked row is waited for at once: the wait is bounded by lock_timeout.
        ending.retry_at = if ending.alone { now.mono } else { now.mono + wait };
    }

    /// The database refused an end. What it refuses for a reason of its own is tried again with less; a time-out says nothing
    /// about what is written.
    pub(super) fn ends_refused(&mut self, now: Now, ends: &[End], trouble: Trouble) {
        let less = match trouble.kind {
            TroubleKind::Other | TroubleKind::Forbidden | TroubleKind::NotMigrated => true,
            TroubleKind::Unreachable
            | TroubleKind::Refused
            | TroubleKind::TooManyConnections
            | TroubleKind::TimedOut
            | TroubleKind::Cancelled
            | TroubleKind::OutOfLocks
            | TroubleKind::Incompatible
            | TroubleKind::Pooled => false,
        };
        for end in ends {
            if trouble.kind == TroubleKind::Cancelled {
                self.say_row_locked(end.slot, None);
            }
            // What was refused in every form for ttl is refused for its row; it waits to be written whole.
            let waits = self.job(end.slot).unrecorded.as_ref().is_some_and(|unrecorded| unrecorded.epoch == end.epoch);
            self.end_again(now, end.slot, |ending| {
                if less && !waits {
                    ending.form = match ending.form {
                        EndForm::Full => EndForm::Bare,
                        EndForm::Bare => EndForm::RowAlone,
                        // Not the words, then, but the times: from the beginning.
                        EndForm::RowAlone => EndForm::Full,
                    };
                }
            });
        }
        // A row that somebody holds is no trouble of the session's, and has been said.
        if trouble.kind != TroubleKind::Cancelled {
            self.trouble(now, trouble);
        }
    }

    /// What another session would not take may be welcome to this one, and whole.
    pub(super) fn try_unrecorded_whole(&mut self, now: Mono) {
        for slot in self.index.all(Mark::Unrecorded).collect::<Vec<_>>() {
            if let Some(ending) = &mut self.job_mut(slot).unrecorded {
                (ending.form, ending.alone, ending.retry_at) = (EndForm::Full, false, now);
            }
        }
    }

    /// An end that the database would not record for ttl: the lock is let go, the end is written through any later session.
    pub(super) fn give_up_recording(&mut self, slot: Slot) {
        let trouble = self.session.trouble.clone();
        let life = std::mem::replace(&mut self.job_mut(slot).life, Life::Due);
        let Life::Ending(mut ending) = life else { return };
        ending.form = EndForm::Full;
        self.say(Notice::Unrecorded { slot, epoch: ending.epoch, trouble });
        self.job_mut(slot).unrecorded = Some(ending);
        if self.shutting_down() {
            self.rest_until(slot, None);
        }
    }

    /// The ends to be recorded now: those that are alone go one by one. An end that was refused for ttl does not hold up the
    /// letting go of its lock any longer.
    pub(super) fn ends_to_record(&self, now: Now) -> (Vec<End>, bool) {
        let letting_go = self.index.any(Mark::LockToSpare);
        let due = |slot: Slot| {
            let job = self.job(slot);
            match (&job.life, &job.unrecorded) {
                (Life::Ending(ending), _) if ending.retry_at <= now.mono => Some(&**ending),
                (_, Some(ending)) if ending.retry_at <= now.mono && !letting_go => Some(&**ending),
                _ => None,
            }
        };
        let mut together = Vec::new();
        let mut slots: Vec<Slot> = self.index.all(Mark::Ending).chain(self.index.all(Mark::Unrecorded)).collect();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let Some(ending) = due(slot) else { continue };
            let end = self.end_of(now, slot, ending);
            if ending.alone || ending.form != EndForm::Full {
                return (vec![end], true);
            }
            together.push(end);
            if together.len() == AT_ONCE {
                break;
            }
        }
        (together, false)
    }
}
