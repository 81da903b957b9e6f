//! The jobs of a scheduler by their names: where the front door finds a job's slot, and keeps two jobs from having one name.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hourhand_core::name::JobName;
use hourhand_core::protocol::Slot;
use tokio::sync::Notify;

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
            let (name, key) = (member.name(), member.entry.key().0);
            match names.places.get(name) {
                Some(Place::Leaving) => return Err(Taken::Leaving),
                Some(Place::Here(_)) => complaints.push(format!("a job is called {name:?} already")),
                None if names.keys.contains_key(&key) => {
                    complaints.push(format!("job {name:?} has the key of another job: rename one"));
                }
                None => {}
            }
        }
        if !complaints.is_empty() {
            return Err(Taken::Here(complaints));
        }
        let slots: Vec<Slot> = (names.next..).map(Slot).take(members.len()).collect();
        names.next += members.len();
        for (member, slot) in members.iter().zip(&slots) {
            names.places.insert(member.definition.name.clone(), Place::Here(*slot));
            names.keys.insert(member.entry.key().0, *slot);
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
        self.struck_out.notify_waiters();
    }
}
