//! What is asked of the fleet: the table `request`, as `request.sql`, `look.sql`, `start.sql` and `settle` touch it.

use hourhand_core::protocol::{Answer, Ordered};
use hourhand_core::request::{Request, Taken, Wanted};
use jiff::{SignedDuration, Timestamp};

use super::{Execution, Note, Server};
use crate::bug::Bug;
use crate::time::At;

/// A row of `request`.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: i64,
    pub(crate) job: usize,
    pub(crate) wanted: Wanted,
    pub(crate) asked_at: At,
    pub(crate) expires_at: Timestamp,
    pub(crate) open: bool,
    /// The run of its newest step.
    pub(crate) epoch: Option<i64>,
    pub(crate) deaths: u32,
}

impl Asked {
    fn is_backfill(&self) -> bool {
        matches!(self.wanted, Wanted::Backfill { .. })
    }
}

impl Server {
    /// Somebody asks; who asks again for what is open joins it.
    pub(crate) fn request(&mut self, job: usize, wanted: Wanted, lasts: SignedDuration, at: At) {
        let expires_at = self.now(at) + lasts;
        let backfill = matches!(wanted, Wanted::Backfill { .. });
        let same = |asked: &&mut Asked| asked.job == job && asked.open && asked.is_backfill() == backfill;
        match self.store.requests.iter_mut().find(same) {
            Some(_) if backfill => return,
            Some(asked) => (asked.asked_at, asked.expires_at) = (at, asked.expires_at.max(expires_at)),
            None => {
                self.next_request += 1;
                let id = self.next_request;
                let row = Asked { id, job, wanted, asked_at: at, expires_at, open: true, epoch: None, deaths: 0 };
                self.store.requests.push(row);
            }
        }
        self.notes.push(Note::NotifyLook { key: self.keys[job] });
    }

    /// What a look shows of the job's requests: a run now before a backfill.
    pub(super) fn requested(&self, job: usize, now: Timestamp) -> Option<Request> {
        let open = self.store.requests.iter().filter(|asked| asked.job == job && asked.open && asked.expires_at > now);
        let first = open.min_by_key(|asked| asked.is_backfill())?;
        Some(Request { id: first.id, wanted: first.wanted })
    }

    /// Whether a start may take this now.
    pub(super) fn may_take(&self, taken: &Taken, now: Timestamp) -> bool {
        let found = self.store.requests.iter().find(|asked| asked.id == taken.id);
        found.is_some_and(|asked| asked.open && asked.expires_at > now && !passed(asked, taken))
    }

    /// A start takes it, in its own statement.
    pub(super) fn take_request(&mut self, taken: &Taken, epoch: i64, before_lost: bool) {
        let forgets = self.bug == Some(Bug::RequestNotTaken);
        let Some(asked) = self.store.requests.iter_mut().find(|asked| asked.id == taken.id) else { return };
        let again = taken.again.map(|again| again.occurrence);
        self.notes.push(Note::Taken { id: taken.id, again });
        if forgets {
            return;
        }
        asked.open = !taken.last;
        asked.epoch = Some(epoch);
        asked.deaths = if before_lost { asked.deaths } else { 0 };
        if let (Wanted::Backfill { after, .. }, Some(again)) = (&mut asked.wanted, again) {
            *after = again;
        }
    }

    /// Nothing is left of it.
    pub(super) fn close_request(&mut self, id: i64) -> Execution {
        for asked in self.store.requests.iter_mut().filter(|asked| asked.id == id) {
            asked.open = false;
        }
        Execution::Done(Answer::Ordered(Ordered::Nothing))
    }

    /// A run of a backfill died: the third in a row ends it.
    pub(super) fn step_died(&mut self, job: usize, epoch: i64) {
        let step = |asked: &&mut Asked| asked.job == job && asked.open && asked.epoch == Some(epoch);
        if let Some(asked) = self.store.requests.iter_mut().find(step) {
            asked.deaths += 1;
            asked.open = asked.deaths < 3;
        }
    }
}

/// The position has reached the occurrence.
fn passed(asked: &Asked, taken: &Taken) -> bool {
    match (asked.wanted, taken.again) {
        (Wanted::Backfill { after, .. }, Some(again)) => after >= again.occurrence,
        _ => false,
    }
}
