//! The jobs as the loop has them. They outlive the loop: if it panics (a bug of ours), the next one has the same jobs.

use std::sync::Arc;

use hourhand_core::job::Definition;
use hourhand_core::protocol::Slot;

use crate::directory::Directory;
use crate::member::Member;
use crate::pg::Catalog;

/// The jobs of this process, by slot.
pub(crate) struct Roster {
    members: Vec<Option<Listed>>,
    pub(super) catalog: Arc<Catalog>,
    directory: Arc<Directory>,
}

struct Listed {
    member: Member,
    leaving: bool,
}

impl Roster {
    pub(crate) fn new(node: String, directory: Arc<Directory>) -> Roster {
        let catalog = Arc::new(Catalog { entries: Vec::new(), node });
        Roster { members: Vec::new(), catalog, directory }
    }

    pub(crate) fn add(&mut self, slot: Slot, member: Member) {
        if self.members.len() <= slot.0 {
            self.members.resize_with(slot.0 + 1, || None);
        }
        // Copied only if a statement under way reads it.
        Arc::make_mut(&mut self.catalog).put(slot, Some(member.entry.clone()));
        self.members[slot.0] = Some(Listed { member, leaving: false });
    }

    pub(super) fn member(&self, slot: Slot) -> Option<&Member> {
        self.members.get(slot.0)?.as_ref().map(|listed| &listed.member)
    }

    /// Nobody finds the job any more.
    pub(super) fn leave(&mut self, slot: Slot) {
        if let Some(Some(listed)) = self.members.get_mut(slot.0) {
            listed.leaving = true;
            self.directory.leave(listed.member.name());
        }
    }

    /// Nothing is left of the job.
    pub(super) fn release(&mut self, slot: Slot) {
        if let Some(listed) = self.members.get_mut(slot.0).and_then(Option::take) {
            Arc::make_mut(&mut self.catalog).put(slot, None);
            self.directory.strike_out(&listed.member);
        }
    }

    /// For a node that begins: those that were leaving have gone with the one before.
    pub(super) fn definitions(&mut self) -> Vec<(Slot, Arc<Definition>)> {
        let leaving = |listed: &Option<Listed>| listed.as_ref().is_some_and(|listed| listed.leaving);
        let gone: Vec<Slot> =
            self.members.iter().enumerate().filter(|(_, listed)| leaving(listed)).map(|(at, _)| Slot(at)).collect();
        gone.into_iter().for_each(|slot| self.release(slot));
        let here = self.members.iter().enumerate();
        here.filter_map(|(at, listed)| Some((Slot(at), listed.as_ref()?.member.definition.clone()))).collect()
    }
}
