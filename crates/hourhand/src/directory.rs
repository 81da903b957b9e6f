//! The jobs of a scheduler by their names: where the front door finds a job's slot, and keeps two jobs from having one name.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hourhand_core::name::JobName;
use hourhand_core::protocol::Slot;
use tokio::sync::Notify;

use crate::job::{still_there, taken};
use crate::member::Member;

/// Shared by the front door, which enters jobs, and the loop, which strikes those out that nothing is left of.
#[derive(Default)]
pub(crate) struct Directory {
    names: Mutex<Names>,
    struck_out: Notify,
}

#[derive(Default)]
struct Names {
    places: HashMap<JobName, Place>,
    keys: HashMap<i64, Slot>,
    /// Who goes on where a job of that name was.
    heirs: HashMap<JobName, JobName>,
    /// The next slot: none is used twice.
    next: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Here(Slot),
    /// Removed, but a run of it may be under way still: under the same lock, which is re-entrant within a session.
    Leaving,
}

/// Why jobs were not entered.
pub(crate) enum Taken {
    /// For good: in words.
    Here(Vec<String>),
    /// Until the removed job of the same name is struck out.
    Leaving,
}

impl Names {
    /// What stands in the way of another job for good, in words.
    fn why_not(&self, member: &Member) -> Result<Option<String>, Taken> {
        let (name, key) = (member.name(), member.entry.key().0);
        let told = |why: String| Ok(Some(format!("job {name:?}: {why}")));
        match self.places.get(name) {
            Some(Place::Leaving) => return Err(Taken::Leaving),
            Some(Place::Here(_)) => return Ok(Some(format!("a job is called {name:?} already"))),
            None if self.keys.contains_key(&key) => {
                return Ok(Some(format!("job {name:?} has the key of another job: rename one")));
            }
            None => {}
        }
        if let Some(heir) = self.heirs.get(name) {
            return self.unless_leaving(heir, || told(format!("{heir:?} was called so before, and keeps its state")));
        }
        let Some(before) = member.definition.renamed_from.as_ref() else { return Ok(None) };
        if self.places.contains_key(before) {
            // A run of the old name may be under way still, under a lock that would not refuse us.
            return self.unless_leaving(before, || told(still_there(before.as_str())));
        }
        match self.heirs.get(before) {
            Some(heir) => self.unless_leaving(heir, || told(taken(before.as_str(), heir.as_str()))),
            None => Ok(None),
        }
    }

    fn unless_leaving<T>(&self, name: &JobName, answer: impl FnOnce() -> Result<T, Taken>) -> Result<T, Taken> {
        match self.places.get(name) {
            Some(Place::Leaving) => Err(Taken::Leaving),
            Some(Place::Here(_)) | None => answer(),
        }
    }
}

impl Directory {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a job that has not been removed.
    pub(crate) fn slot(&self, name: &str) -> Option<Slot> {
        match self.names().places.get(name) {
            Some(Place::Here(slot)) => Some(*slot),
            Some(Place::Leaving) | None => None,
        }
    }

    /// All names, in order.
    pub(crate) fn known(&self) -> Vec<String> {
        let names = self.names();
        let here = names.places.iter().filter(|(_, place)| **place != Place::Leaving);
        let mut known: Vec<String> = here.map(|(name, _)| name.to_string()).collect();
        known.sort_unstable();
        known
    }

    /// Gives each of these jobs a slot and hands them on, all or none.
    pub(crate) fn enter(&self, members: &[Member], hand_on: impl FnOnce(Vec<Slot>)) -> Result<(), Taken> {
        let mut names = self.names();
        let mut complaints = Vec::new();
        for member in members {
            complaints.extend(names.why_not(member)?);
        }
        if !complaints.is_empty() {
            return Err(Taken::Here(complaints));
        }
        let slots: Vec<Slot> = (names.next..).map(Slot).take(members.len()).collect();
        names.next += members.len();
        for (member, slot) in members.iter().zip(&slots) {
            names.places.insert(member.definition.name.clone(), Place::Here(*slot));
            names.keys.insert(member.entry.key().0, *slot);
            let before = member.definition.renamed_from.clone();
            names.heirs.extend(before.map(|before| (before, member.definition.name.clone())));
        }
        hand_on(slots);
        Ok(())
    }

    /// As [`Directory::enter`], once the jobs of these names that were removed are struck out.
    pub(crate) async fn enter_when_free(
        &self,
        members: &[Member],
        mut hand_on: impl FnMut(Vec<Slot>),
    ) -> Result<(), Vec<String>> {
        loop {
            let struck_out = self.struck_out.notified();
            tokio::pin!(struck_out);
            struck_out.as_mut().enable();
            match self.enter(members, &mut hand_on) {
                Ok(()) => return Ok(()),
                Err(Taken::Here(complaints)) => return Err(complaints),
                Err(Taken::Leaving) => struck_out.await,
            }
        }
    }

    /// The job is removed: nobody finds it any more.
    pub(crate) fn leave(&self, name: &str) {
        if let Some(place) = self.names().places.get_mut(name) {
            *place = Place::Leaving;
        }
    }

    /// Nothing is left of a job: its name is free.
    pub(crate) fn strike_out(&self, member: &Member) {
        let mut names = self.names();
        names.places.remove(member.name());
        names.keys.remove(&member.entry.key().0);
        member.definition.renamed_from.as_ref().map(|before| names.heirs.remove(before));
        self.struck_out.notify_waiters();
    }
}
