//! What follows from a look: decisions, and answers to whoever waits.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::deploys::registered;
use super::index::Mark;
use super::life::{Contention, Intent, Job, Life, Lost, Wish};
use super::plan::AT_ONCE;
use super::{Node, Now, asked};
use crate::backoff::spread;
use crate::facts::{Facts, Holder};
use crate::job::Starts;
use crate::occurrence::{Decision, decide};
use crate::protocol::{Action, Obstacle, Slot, Ticket, TriggerAnswer, Trouble, TroubleKind};
use crate::request::Taken;
use crate::time::Mono;

/// A lock held by nobody's run is looked at again for this long: a start or an end may be under way.
pub(super) const RECHECK_FOR: Duration = Duration::from_secs(1);
/// Who waits for a lock without watching it looks again after half of this to the whole.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(40);
/// Between two such looks.
const RECHECK_EVERY: Duration = Duration::from_millis(50);

impl Node {
    /// Somebody wants a job run now. Answered at once if this process runs it: a lock is re-entrant within a session, so the
    /// database would not refuse us.
    pub(super) fn triggered(&mut self, now: Now, slot: Slot, ticket: Ticket) {
        if self.shutting_down() || !self.stays(slot) {
            return self.act(Action::AnswerTrigger(ticket, TriggerAnswer::ShuttingDown));
        }
        if let Some(answer) = self.runs_here(slot) {
            return self.act(Action::AnswerTrigger(ticket, answer));
        }
        if self.settings.rowless {
            return self.asked_for_lock(now, slot, ticket);
        }
        if let Some(answer) = self.group_runs(slot).filter(|_| self.group_busy(slot)) {
            return self.act(Action::AnswerTrigger(ticket, answer));
        }
        let mut job = self.job_mut(slot);
        job.tickets.push((ticket, now.mono));
        job.look_at = now.mono;
        drop(job);
        self.hurry(now);
    }

    /// A person waits: the next try to connect is now, not after the backoff.
    pub(super) fn hurry(&mut self, now: Now) {
        if let super::session::State::Closed { retry_at } = &mut self.session.state {
            *retry_at = (*retry_at).min(now.mono);
        }
        self.session.quiet_until = self.session.quiet_until.min(now.mono);
    }

    fn runs_here(&self, slot: Slot) -> Option<TriggerAnswer> {
        let job = self.job(slot);
        if let Some(epoch) = job.stuck {
            // Its end is on record and its lock let go, but the body goes on.
            return Some(TriggerAnswer::AlreadyRunning { node: None, since: None, epoch: Some(epoch) });
        }
        let going = job.going()?;
        let (epoch, since) = (Some(going.run.epoch), Some(going.run.started_at));
        Some(TriggerAnswer::AlreadyRunning { node: None, since, epoch })
    }

    pub(super) fn answer_tickets(&mut self, slot: Slot, answer: &TriggerAnswer) {
        self.answer_tickets_of(slot, Mono(Duration::MAX), answer);
    }

    /// Answers those who had asked by then.
    pub(super) fn answer_tickets_of(&mut self, slot: Slot, until: Mono, answer: &TriggerAnswer) {
        let tickets = std::mem::take(&mut self.job_mut(slot).tickets);
        let (answered, later) = tickets.into_iter().partition(|(_, since)| *since <= until);
        self.job_mut(slot).tickets = later;
        let answered: Vec<(Ticket, Mono)> = answered;
        for (ticket, _) in answered {
            self.act(Action::AnswerTrigger(ticket, answer.clone()));
        }
    }

    /// Whoever wanted a run by hand has been told that there is none: it must not start later.
    pub(super) fn wish_no_more(&mut self, slot: Slot) {
        let by_hand = |intent: &Intent| intent.wish == Wish::ByHand;
        let mut job = self.job_mut(slot);
        match &mut job.life {
            Life::Wanted(intent) if by_hand(intent) => (job.life, job.calendar_at) = (Life::Due, None),
            Life::Granted(grant) => grant.intent = grant.intent.filter(|intent| !by_hand(intent)),
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Running(_) | Life::Ending(_) | Life::Contended(_) => {}
        }
    }

    pub(super) fn status_asked(&mut self, now: Now, ticket: Ticket) {
        if self.slots().is_empty() {
            return self.act(Action::AnswerStatus(ticket, Ok((now.wall, Vec::new()))));
        }
        self.status_tickets.push(ticket);
    }

    pub(super) fn looked(&mut self, now: Now, server: Option<Timestamp>, answers: Vec<(Slot, Option<Facts>)>) {
        if let Some(server) = server {
            self.learn_clock(now, server);
        }
        self.session.visited = true;
        for (slot, facts) in answers {
            self.job_mut(slot).facts = facts.clone();
            self.job_mut(slot).looked_at = now.mono;
            match facts {
                Some(facts) => self.look_at_one(now, slot, &facts),
                // Somebody removed the row (or the schema was made anew): it is ours to register.
                None if self.stays(slot) => self.register_anew(slot),
                None => self.rest_until(slot, None),
            }
        }
    }

    fn look_at_one(&mut self, now: Now, slot: Slot, facts: &Facts) {
        if self.job(slot).other_key {
            let text = "the job is registered under another key".to_owned();
            let trouble = Trouble { kind: TroubleKind::Other, text };
            self.answer_tickets(slot, &TriggerAnswer::Unreachable(trouble));
            return self.rest_until(slot, None);
        }
        if facts.holder.is_none() || facts.running {
            self.job_mut(slot).said_foreign = None;
        }
        let before = self.job(slot).lost_since.as_deref().copied();
        let lost = facts.open_run().filter(|_| !facts.running);
        let since = |epoch| before.filter(|before| before.0 == epoch).unwrap_or((epoch, now.mono));
        self.job_mut(slot).lost_since = lost.map(since).map(Box::new);
        self.definition_looked_at(slot, facts);
        self.note_waiting(now, slot, facts);
        self.note_unknown(now, slot, facts);
        self.close_exhausted(slot, facts);
        let by_hand = self.look_for_tickets(now, slot, facts);
        let life = &self.job(slot).life;
        match life {
            Life::Running(_) | Life::Ending(_) => {}
            Life::Granted(_) => self.grant_looked_at(now, slot, facts, by_hand),
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Contended(_) => {
                self.idle_looked_at(now, slot, facts, by_hand);
            }
        }
    }

    /// Answers those who wait for a manual run, where the look says enough. True: one of them still wants it.
    fn look_for_tickets(&mut self, now: Now, slot: Slot, facts: &Facts) -> bool {
        let sent = self.look_sent;
        let asked_before = self.job(slot).tickets.iter().map(|(_, since)| *since).filter(|since| *since <= sent);
        let Some(oldest) = asked_before.min() else { return false };
        if let Some(renamed) = &facts.renamed {
            let text = format!("the job goes on under the name {:?}", renamed.to);
            let trouble = Trouble { kind: TroubleKind::Other, text };
            self.answer_tickets_of(slot, sent, &TriggerAnswer::Unreachable(trouble));
            return false;
        }
        if facts.paused {
            self.answer_tickets_of(slot, sent, &TriggerAnswer::Paused);
            return false;
        }
        let if_due = self.job(slot).definition.starts == Starts::WhenAskedIfDue;
        if let Some(answer) = self.not_due(now, slot, facts).filter(|_| if_due) {
            self.answer_tickets_of(slot, sent, &answer);
            return false;
        }
        let foreign = facts.holder.as_ref().filter(|holder| Some(holder.pid) != self.session.pid());
        let Some(holder) = foreign else { return self.group_may_be_had(now, slot, oldest) && !if_due };
        if facts.running {
            let (node, since, epoch) = (facts.node.clone(), facts.started_at, Some(facts.epoch));
            self.answer_tickets_of(slot, sent, &TriggerAnswer::AlreadyRunning { node, since, epoch });
        } else if now.mono - oldest >= RECHECK_FOR {
            let node = Some(format!("{} (pid {})", holder.application.as_deref().unwrap_or("unknown"), holder.pid));
            self.say_foreign(slot, obstacle(holder));
            self.answer_tickets_of(slot, sent, &TriggerAnswer::AlreadyRunning { node, since: None, epoch: None });
        } else {
            self.job_mut(slot).look_at = now.mono + RECHECK_EVERY;
        }
        false
    }

    /// Nobody has the job's lock. False: its group was not to be had for as long as a manual run is tried for.
    fn group_may_be_had(&mut self, now: Now, slot: Slot, oldest: Mono) -> bool {
        let refused = self.job(slot).refused_at.is_some_and(|at| at >= oldest) && now.mono - oldest >= RECHECK_FOR;
        let Some(answer) = self.group_runs(slot).filter(|_| refused || self.group_busy(slot)) else { return true };
        self.answer_tickets_of(slot, self.look_sent, &answer);
        false
    }

    /// No run of ours, no lock of ours.
    pub(super) fn idle_looked_at(&mut self, now: Now, slot: Slot, facts: &Facts, by_hand: bool) {
        let held = facts.holder.is_some();
        if self.takes_back(now, slot, facts) {
            return self.live(slot, Life::Due);
        }
        let replaces = self.replaces(now, slot, facts);
        let not_up = self.job_mut(slot).not_up.take();
        if replaces.is_some() && replaces != not_up {
            self.job_mut(slot).stand_up = replaces;
            return self.live(slot, Life::Due);
        }
        let decision = self.decide(now, slot, facts);
        let ours_to_run = facts.other.is_none() && !facts.paused;
        if ours_to_run && (held || matches!(decision, Decision::NotYet(_))) {
            self.came_too_late(now.mono, slot);
        }
        match wish(decision, by_hand && !held, self.asked_for(slot, facts)) {
            Ok(wish) => match self.permitted(slot, wish, by_hand && !held, facts) {
                None => self.ask_condition(slot),
                Some(_) if held => self.contend(now, slot, facts),
                Some(wish) => self.live(slot, Life::Wanted(Box::new(intent(wish, facts)))),
            },
            Err(_) if self.waits_for_its_end(slot, facts) => self.contend(now, slot, facts),
            Err(wait) => self.wait(now, slot, wait),
        }
    }

    /// Nothing is due, but somebody else is at a run: asked for by hand, say. A node that keeps its session anyway waits for the end of
    /// it, like for that of one it wants: if its holder dies that is on record at once, if he is frozen he is evicted.
    fn waits_for_its_end(&self, slot: Slot, facts: &Facts) -> bool {
        let by_schedule = self.job(slot).definition.starts == Starts::BySchedule;
        let ours = facts.other.is_none() && facts.renamed.is_none() && by_schedule;
        self.settings.resident && facts.running && !facts.mine && ours && !self.shutting_down()
    }

    /// Nothing is to be done for now.
    pub(super) fn wait(&mut self, now: Now, slot: Slot, wait: Wait) {
        match wait {
            Wait::Until(next) => self.rest_until(slot, next),
            Wait::Word => {
                let again_at = self.outside_at(now.mono);
                self.live(slot, Life::Contended(Contention { again_at, outside: true, maintain: false }));
            }
        }
    }

    /// The decision of [`decide`], under the conditions of this process.
    pub(super) fn decide(&self, now: Now, slot: Slot, facts: &Facts) -> Decision {
        let job = self.job(slot);
        // Nobody decides before the first visit.
        let Some(server) = self.clock.estimate(now) else { return Decision::NotYet(None) };
        if self.shutting_down() || !self.stays(slot) {
            return Decision::NotYet(None);
        }
        if let Some(renamed) = &facts.renamed {
            return Decision::NotYet(self.renamed_until(slot, renamed, server));
        }
        if facts.other.is_some() && registered(job, facts).schedule.is_continuous() {
            return Decision::LookAgain;
        }
        if facts.other.is_some() {
            return Decision::NotYet(self.stands_down_until(slot, facts, server));
        }
        let delayed = (self.began + self.settings.start_delay) - now.mono;
        let decision = match job.definition.starts {
            Starts::BySchedule => decide(&job.definition, facts, server),
            Starts::WhenAskedIfDue if !job.tickets.is_empty() => {
                asked::decide_when_asked(&job.definition, facts, server)
            }
            Starts::WhenAskedIfDue | Starts::WhenAsked => Decision::NotYet(None),
        };
        match decision {
            Decision::Due(_) | Decision::FollowUp | Decision::Continuous
                if job.stuck.is_some() || job.unrecorded.is_some() =>
            {
                Decision::Later(later(server, self.spans.ttl))
            }
            Decision::Due(_) | Decision::FollowUp | Decision::Continuous | Decision::PassOver(_)
                if !delayed.is_zero() =>
            {
                Decision::Later(later(server, delayed))
            }
            decision => decision,
        }
    }

    /// When those who do not watch look again: all jobs of this node at one instant, on one connection, after at least a quarter
    /// of the longest wait.
    pub(super) fn outside_at(&mut self, now: Mono) -> Mono {
        if self.look_outside_at < now + LOOK_AGAIN / 4 {
            self.look_outside_at = now + spread(LOOK_AGAIN, self.draw());
        }
        self.look_outside_at
    }

    /// The lock is taken while the occurrence is not handled. A lease is waited out; beside a session lock there is the watch.
    fn contend(&mut self, now: Now, slot: Slot, facts: &Facts) {
        let lease_end = facts.lease_left.map(|left| left + spread(self.spans.ping_interval, self.draw()));
        if lease_end.is_some() || self.leases() {
            let again_at = lease_end.map_or_else(|| self.outside_at(now.mono), |left| now.mono + left);
            return self.live(slot, Life::Contended(Contention { again_at, outside: true, maintain: false }));
        }
        let contention = match self.job(slot).life {
            Life::Contended(before) => before,
            _ => Contention::new(now.mono),
        };
        let outside = contention.outside && contention.again_at > now.mono;
        self.live(slot, Life::Contended(Contention { outside, ..contention }));
    }

    /// The lock is ours: what the row says now stands until we let go, but for open transactions of older runs.
    fn grant_looked_at(&mut self, now: Now, slot: Slot, facts: &Facts, by_hand: bool) {
        let other_kind = facts.lease_left.is_some() || (self.leases() && facts.holder.is_some());
        if other_kind && !self.shutting_down() {
            return self.contend(now, slot, facts);
        }
        let wish = match wish(self.decide(now, slot, facts), by_hand, self.asked_for(slot, facts)) {
            Ok(wish) => self.permitted(slot, wish, by_hand, facts).ok_or(None),
            Err(wait) => Err(Some(wait)),
        };
        let wish = match wish {
            Ok(wish) => wish,
            // A run that ended without a word is put on record even if nothing is to be started.
            Err(_) if facts.open_run().is_some() && !self.shutting_down() => Wish::Record,
            Err(Some(wait)) => return self.wait(now, slot, wait),
            Err(None) => return self.ask_condition(slot),
        };
        let wanted = intent(wish, facts);
        let Life::Granted(grant) = &mut self.job_mut(slot).life else { return };
        // The same wish on the same row did not start: somebody's open transaction holds the row.
        grant.alone = grant.tried == Some(wanted);
        grant.intent = Some(wanted);
    }

    /// Another node let a lock go: whoever watches it tries at once.
    pub(super) fn freed(&mut self, now: Now, key: i64) {
        let Some(slot) = self.by_key.get(&key).copied() else { return self.group_freed(now.mono, key) };
        let watching = self.job(slot).holds.watch;
        if let Life::Contended(contention) = &mut self.job_mut(slot).life
            && watching
        {
            contention.again_at = now.mono;
        }
    }

    /// The lock was tried for a manual run, and refused: find out who holds it.
    pub(super) fn refused_by_hand(&mut self, now: Now, slot: Slot) {
        self.look_less_often(now, slot);
        let life = if self.job(slot).look_at > now.mono { Life::Resting } else { Life::Due };
        self.live(slot, life);
    }

    /// A lock was refused while somebody waits for a run: the first time a look follows at once, but not at the speed of the line
    /// if nobody is to be seen who has it.
    pub(super) fn look_less_often(&mut self, now: Now, slot: Slot) {
        let since = self.job(slot).tickets.iter().map(|(_, since)| *since).min();
        if since.is_some_and(|since| now.mono - since >= RECHECK_EVERY) {
            self.job_mut(slot).look_at = now.mono + RECHECK_EVERY;
        }
    }

    /// A run started: the first who asked for a manual one has it, everybody else learns that it runs already.
    pub(super) fn answer_started(&mut self, slot: Slot, by_hand: bool, epoch: i64, since: Timestamp) {
        let tickets: Vec<Ticket> =
            std::mem::take(&mut self.job_mut(slot).tickets).into_iter().map(|(ticket, _)| ticket).collect();
        for (place, ticket) in tickets.into_iter().enumerate() {
            let answer = if by_hand && place == 0 {
                TriggerAnswer::Started(epoch)
            } else {
                TriggerAnswer::AlreadyRunning { node: None, since: Some(since), epoch: Some(epoch) }
            };
            self.act(Action::AnswerTrigger(ticket, answer));
        }
    }

    /// Which jobs are to be looked at now: those due, those whose grant needs it, those somebody asked for; as many as go into one statement.
    pub(super) fn to_look_at(&self, now: Mono) -> Vec<Slot> {
        let due = self.those(Mark::Due, |job| job.heir_of.is_none());
        let granted = self.those(
            Mark::Granted,
            |job| matches!(&job.life, Life::Granted(grant) if grant.intent.is_none() && grant.retry_at <= now),
        );
        let idle = |job: &Job| matches!(job.life, Life::Resting | Life::Contended(_));
        let asked_for = self.those(Mark::AskedFor, |job| idle(job) && job.look_at <= now);
        let contended = |job: &Job| matches!(job.life, Life::Contended(_));
        let late = self.those(Mark::Waiting, |job| contended(job) && job.is_late_since_look(now));
        let mut slots = [due, granted, asked_for, late].concat();
        slots.sort_unstable();
        slots.dedup();
        slots.truncate(AT_ONCE);
        slots
    }
}

/// How long nothing is to be done.
pub(super) enum Wait {
    /// Until then; `None`: for good.
    Until(Option<Timestamp>),
    /// Until somebody changes something, which nobody may tell us: we look again like those who wait for another's lock.
    Word,
}

/// What a decision wants the lock for, or when to look again. What is due by the schedule goes first; a backfill also lets a bounded
/// window catch up, of which the row would not know any more after it.
pub(super) fn wish(decision: Decision, by_hand: bool, asked: Option<Taken>) -> Result<Wish, Wait> {
    let now = asked.filter(|taken| taken.again.is_none());
    let idle = |wait: Wait| asked.map(Wish::Requested).ok_or(wait);
    match (decision, now) {
        (Decision::Due(due), _) => Ok(Wish::Occurrence(due)),
        (Decision::PassOver(skip), _) => Ok(Wish::PassOver(skip)),
        (_, Some(taken)) => Ok(Wish::Requested(taken)),
        (Decision::Continuous, None) => Ok(Wish::Continuous),
        (_, None) if by_hand => Ok(Wish::ByHand),
        (Decision::FollowUp, None) => Ok(Wish::FollowUp),
        (Decision::Later(at), None) => idle(Wait::Until(Some(at))),
        (Decision::NotYet(next), None) => idle(Wait::Until(next)),
        (Decision::LookAgain, None) => idle(Wait::Word),
    }
}

fn intent(wish: Wish, facts: &Facts) -> Intent {
    let lost = facts.open_run().map(|epoch| Lost { epoch, died: !facts.mine });
    Intent { wish, seen: facts.epoch, lost }
}

fn later(server: Timestamp, length: Duration) -> Timestamp {
    SignedDuration::try_from(length).ok().and_then(|length| server.checked_add(length).ok()).unwrap_or(server)
}

/// A holder as far as a look shows him.
fn obstacle(holder: &Holder) -> Obstacle {
    Obstacle {
        pid: holder.pid,
        application: holder.application.clone(),
        client: None,
        silent: None,
        ours: false,
        watch: false,
        evicted: false,
        forbidden: false,
    }
}
