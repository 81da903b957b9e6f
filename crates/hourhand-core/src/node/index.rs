//! What the node would otherwise have to ask all its jobs for, with every step: who wants what, who has what, and when time alone
//! changes something.
//!
//! Nothing here is state of its own: all of it follows from the jobs, one by one ([`Standing::of`]), and is brought up to date
//! whenever a job was changed. A job is changed through [`Changing`] alone, so that no change can be forgotten; and so a step costs
//! what it changes, however many jobs there are.

use std::collections::BTreeSet;
use std::ops::{Bound, Deref, DerefMut};
use std::time::Duration;

use jiff::Timestamp;

use super::life::{Contention, Job, Life};
use crate::protocol::Slot;
use crate::time::Mono;

/// What can be said of a job, and is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Its life is not at rest, or it holds something, or is asked for.
    Active,
    // Its life.
    Due,
    Wanted,
    Granted,
    Running,
    Ending,
    Contended,
    /// It waits for somebody else's lock, and watches or is about to.
    Watching,
    /// The same, of a job that has a group.
    WatchingInGroup,
    /// Its lock is held.
    Lock,
    /// Its lock is held and not needed any more.
    LockToSpare,
    /// Its watch is held.
    Watch,
    /// Its watch is held and not needed any more.
    WatchToSpare,
    /// Somebody waits for a run.
    AskedFor,
    /// An end is to be written through any later session.
    Unrecorded,
    /// Another definition is to be replaced.
    StandsUp,
    /// It was refused: see who has it.
    Refused,
    /// Its row was not to be had: see who has it.
    Blocked,
    /// An occurrence waits, and nobody has been told.
    Waiting,
}

const MARKS: usize = Mark::Waiting as usize + 1;

/// A job as the index has it. Follows from the job, and from nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Standing {
    /// A bit for each mark.
    marks: u32,
    calendar: Option<Timestamp>,
    /// When time alone changes its life.
    deadline: Option<Mono>,
    /// When it may be worth a question.
    alarms: [Option<Mono>; 6],
    /// The key of its group, while nobody else of it may begin here.
    busy_group: Option<i64>,
    /// The epochs of the run under way here and of ends that are still to be written.
    own: [Option<i64>; 2],
}

/// The jobs by what can be said of them.
#[derive(Debug)]
pub(super) struct Index {
    /// Ends that are refused for so long are given up.
    ttl: Duration,
    marked: [BTreeSet<Slot>; MARKS],
    /// Jobs at rest, by the server's time at which they are to be looked at: waking up costs nothing for the others.
    calendar: BTreeSet<(Timestamp, Slot)>,
    deadlines: BTreeSet<(Mono, Slot)>,
    alarms: BTreeSet<(Mono, Slot)>,
    busy_groups: BTreeSet<(i64, Slot)>,
    own_epochs: BTreeSet<(i64, Slot)>,
}

/// A job that is being changed; the index follows when this is dropped.
#[derive(Debug)]
pub(super) struct Changing<'a> {
    slot: Slot,
    job: &'a mut Job,
    before: Standing,
    index: &'a mut Index,
}

impl Index {
    pub(super) fn new(ttl: Duration) -> Index {
        Index {
            ttl,
            marked: Default::default(),
            calendar: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            alarms: BTreeSet::new(),
            busy_groups: BTreeSet::new(),
            own_epochs: BTreeSet::new(),
        }
    }

    pub(super) fn change<'a>(&'a mut self, slot: Slot, job: &'a mut Job) -> Changing<'a> {
        Changing { slot, before: Standing::of(job, self.ttl), job, index: self }
    }

    pub(super) fn insert(&mut self, slot: Slot, job: &Job) {
        self.update(slot, &Standing::default(), &Standing::of(job, self.ttl));
    }

    pub(super) fn remove(&mut self, slot: Slot, job: &Job) {
        self.update(slot, &Standing::of(job, self.ttl), &Standing::default());
    }

    /// The jobs of which that can be said, in order.
    pub(super) fn all(&self, mark: Mark) -> impl Iterator<Item = Slot> + '_ {
        self.marked[mark as usize].iter().copied()
    }

    pub(super) fn count(&self, mark: Mark) -> usize {
        self.marked[mark as usize].len()
    }

    pub(super) fn any(&self, mark: Mark) -> bool {
        !self.marked[mark as usize].is_empty()
    }

    /// The next instant of the calendar, by the server's clock.
    pub(super) fn next_of_calendar(&self) -> Option<(Timestamp, Slot)> {
        self.calendar.first().copied()
    }

    /// The jobs that time alone has changed by now, in order.
    pub(super) fn past_deadline(&self, now: Mono) -> Vec<Slot> {
        let mut slots: Vec<Slot> =
            self.deadlines.iter().take_while(|(at, _)| *at <= now).map(|(_, slot)| *slot).collect();
        slots.sort_unstable();
        slots
    }

    /// The next instant after now at which a job wants something. What is past already waits for something else, and must not hide
    /// what lies ahead.
    pub(super) fn next_alarm(&self, now: Mono) -> Option<Mono> {
        let ahead = (Bound::Excluded((now, Slot(usize::MAX))), Bound::Unbounded);
        self.alarms.range(ahead).next().map(|(at, _)| *at)
    }

    /// When time alone changes a job next; what was set while time passed may be past already.
    pub(super) fn next_deadline(&self) -> Option<Mono> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Another job of that group has a lock here, or a body that still stops though its lock is lost.
    pub(super) fn is_busy(&self, group: i64, but: Slot) -> bool {
        of(&self.busy_groups, group).any(|slot| slot != but)
    }

    /// A run of this epoch has its body under way here, or its end is still to be written.
    pub(super) fn is_own(&self, epoch: i64) -> bool {
        of(&self.own_epochs, epoch).next().is_some()
    }

    fn update(&mut self, slot: Slot, before: &Standing, after: &Standing) {
        if before == after {
            return;
        }
        let changed = before.marks ^ after.marks;
        for (mark, set) in self.marked.iter_mut().enumerate().filter(|(mark, _)| changed & (1 << mark) != 0) {
            let has = after.marks & (1 << mark) != 0;
            match has {
                true => set.insert(slot),
                false => set.remove(&slot),
            };
        }
        replace(&mut self.calendar, slot, [before.calendar], [after.calendar]);
        replace(&mut self.deadlines, slot, [before.deadline], [after.deadline]);
        replace(&mut self.alarms, slot, before.alarms, after.alarms);
        replace(&mut self.busy_groups, slot, [before.busy_group], [after.busy_group]);
        replace(&mut self.own_epochs, slot, before.own, after.own);
    }
}

/// The jobs that stand beside it.
fn of(set: &BTreeSet<(i64, Slot)>, what: i64) -> impl Iterator<Item = Slot> + '_ {
    set.range((what, Slot(0))..=(what, Slot(usize::MAX))).map(|(_, slot)| *slot)
}

fn replace<T: Copy + Ord, const N: usize>(
    set: &mut BTreeSet<(T, Slot)>,
    slot: Slot,
    before: [Option<T>; N],
    after: [Option<T>; N],
) {
    if before == after {
        return;
    }
    for gone in before.into_iter().flatten() {
        set.remove(&(gone, slot));
    }
    set.extend(after.into_iter().flatten().map(|at| (at, slot)));
}

impl Standing {
    fn of(job: &Job, ttl: Duration) -> Standing {
        let active = job.is_active();
        let busy = job.holds.lock || job.going().is_some();
        let late = job.waiting.as_ref().filter(|waiting| active && !waiting.told).map(|waiting| waiting.late_at);
        let tickets = !job.tickets.is_empty();
        let mut marks = 0;
        let mut mark = |mark: Mark, has: bool| marks |= u32::from(has) << mark as u32;
        mark(Mark::Active, active);
        if let Some(life) = mark_of(&job.life) {
            mark(life, true);
        }
        mark(Mark::Watching, job.needs_watch());
        mark(Mark::WatchingInGroup, job.needs_watch() && job.definition.group.is_some());
        mark(Mark::Lock, job.holds.lock);
        mark(Mark::LockToSpare, job.holds.lock && !job.needs_lock());
        mark(Mark::Watch, job.holds.watch);
        mark(Mark::WatchToSpare, job.holds.watch && !job.needs_watch());
        mark(Mark::AskedFor, tickets);
        mark(Mark::Unrecorded, job.unrecorded.is_some());
        mark(Mark::StandsUp, active && job.stand_up.is_some());
        mark(Mark::Refused, matches!(&job.life, Life::Contended(Contention { maintain: true, .. })));
        mark(Mark::Blocked, matches!(&job.life, Life::Granted(grant) if grant.blocked));
        mark(Mark::Waiting, late.is_some());
        let life = match &job.life {
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Running(_) => None,
            Life::Granted(grant) => Some(grant.retry_at),
            Life::Ending(ending) => Some(ending.retry_at),
            Life::Contended(contention) => Some(contention.again_at),
        };
        let under_way = match &job.life {
            Life::Running(going) => Some(going.run.epoch),
            Life::Ending(ending) => Some(ending.epoch),
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) | Life::Contended(_) => None,
        };
        let deadline = job.deadline(ttl);
        let asked_for = tickets.then_some(job.look_at);
        let unrecorded = job.unrecorded.as_ref().map(|ending| ending.retry_at);
        let inherits = job.heir_of.as_ref().filter(|_| active).map(|heir_of| heir_of.retry_at);
        Standing {
            marks,
            calendar: job.calendar_at,
            deadline,
            alarms: [life, deadline, asked_for, unrecorded, late, inherits],
            busy_group: job.definition.group.as_ref().filter(|_| busy).map(|group| group.key.0),
            own: [under_way, job.unrecorded.as_ref().map(|ending| ending.epoch)],
        }
    }
}

fn mark_of(life: &Life) -> Option<Mark> {
    match life {
        Life::Resting => None,
        Life::Due => Some(Mark::Due),
        Life::Wanted(_) => Some(Mark::Wanted),
        Life::Granted(_) => Some(Mark::Granted),
        Life::Running(_) => Some(Mark::Running),
        Life::Ending(_) => Some(Mark::Ending),
        Life::Contended(_) => Some(Mark::Contended),
    }
}

impl Job {
    /// When time alone changes its life.
    fn deadline(&self, ttl: Duration) -> Option<Mono> {
        match &self.life {
            Life::Running(going) => {
                let stops = match going.stop {
                    None => going.times_out_at,
                    Some(stop) if stop.aborted => Some(self.abandons_at(stop)),
                    Some(stop) => Some(stop.abort_at),
                };
                stops.into_iter().chain(going.warn_at).min()
            }
            Life::Ending(ending) => Some(ending.since + ttl),
            Life::Contended(contention) => self.waits_outside().then_some(contention.again_at),
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) => None,
        }
    }
}

impl Deref for Changing<'_> {
    type Target = Job;
    fn deref(&self) -> &Job {
        self.job
    }
}

impl DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut Job {
        self.job
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        let after = Standing::of(self.job, self.index.ttl);
        self.index.update(self.slot, &self.before, &after);
    }
}
