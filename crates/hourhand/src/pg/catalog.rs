//! The jobs of a node, in the columns that statements take.

use std::collections::HashMap;
use std::sync::Arc;

use hourhand_core::job::{Definition, Starts};
use hourhand_core::key::Key;
use hourhand_core::protocol::Slot;
use jiff::SignedDuration;

use super::definition;

/// One job, for the statements: what they take is read from the definition, which the node has too.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    definition: Arc<Definition>,
    start_delay: SignedDuration,
    /// Tells definitions apart; `None`: nothing is registered but the row.
    pub(crate) fingerprint: Option<i64>,
}

impl Entry {
    pub(crate) fn of(definition: Arc<Definition>, start_delay: SignedDuration) -> Entry {
        let registers = definition.starts == Starts::BySchedule;
        let fingerprint = || definition::fingerprint(&definition::write(&definition, start_delay));
        Entry { fingerprint: registers.then(fingerprint), definition, start_delay }
    }

    pub(crate) fn name(&self) -> &str {
        self.definition.name.as_str()
    }

    pub(crate) fn key(&self) -> Key {
        self.definition.key
    }

    /// The key of its group.
    pub(crate) fn group(&self) -> Option<Key> {
        self.definition.group.as_ref().map(|group| group.key)
    }

    /// The definition as it is registered. Written anew each time: it is read once in the life of most processes.
    pub(crate) fn body(&self) -> Option<String> {
        self.fingerprint.map(|_| definition::write(&self.definition, self.start_delay))
    }

    pub(crate) fn lookback_seconds(&self) -> f64 {
        self.definition.lookback.as_secs_f64()
    }

    pub(crate) fn initial_window_seconds(&self) -> f64 {
        self.definition.initial_window.as_secs_f64()
    }

    pub(crate) fn window_max_seconds(&self) -> Option<f64> {
        self.definition.window_max.map(|length| length.as_secs_f64())
    }

    pub(crate) fn retention_seconds(&self) -> f64 {
        self.definition.retention.as_secs_f64()
    }
}

/// All jobs of a node, by slot.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    pub(crate) entries: Vec<Option<Arc<Entry>>>,
    /// What the node calls itself in rows.
    pub(crate) node: String,
}

impl Catalog {
    /// The job that is, or was, at a slot; nothing speaks of one that is gone.
    pub(crate) fn entry(&self, slot: Slot) -> &Entry {
        self.entries[slot.0].as_ref().unwrap_or_else(|| unreachable!("{slot:?} was released"))
    }

    /// All jobs.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten().map(|entry| &**entry)
    }

    pub(crate) fn put(&mut self, slot: Slot, entry: Option<Arc<Entry>>) {
        if self.entries.len() <= slot.0 {
            self.entries.resize(slot.0 + 1, None);
        }
        self.entries[slot.0] = entry;
    }

    /// Which of these are jobs of this node, in one pass.
    pub(crate) fn find<'a, T>(&'a self, by_name: &'a HashMap<String, T>) -> impl Iterator<Item = (Slot, &'a T)> {
        let entries = self.entries.iter().enumerate().filter(|_| !by_name.is_empty());
        entries.filter_map(|(at, entry)| Some((Slot(at), by_name.get(entry.as_ref()?.name())?)))
    }

    pub(crate) fn names(&self, slots: &[Slot]) -> Vec<&str> {
        slots.iter().map(|slot| self.entry(*slot).name()).collect()
    }

    pub(crate) fn fingerprints(&self, slots: &[Slot]) -> Vec<Option<i64>> {
        slots.iter().map(|slot| self.entry(*slot).fingerprint).collect()
    }

    pub(crate) fn keys(&self, slots: &[Slot]) -> Vec<i64> {
        slots.iter().map(|slot| self.entry(*slot).key().0).collect()
    }

    /// The keys of their groups, one a job.
    pub(crate) fn groups(&self, slots: &[Slot]) -> Vec<Option<i64>> {
        slots.iter().map(|slot| self.entry(*slot).group().map(|group| group.0)).collect()
    }

    /// All that the session holds when it has these jobs: their locks, then those of their groups.
    pub(crate) fn held_for(&self, slots: &[Slot]) -> Vec<i64> {
        let mut keys = self.keys(slots);
        keys.extend(self.groups(slots).into_iter().flatten());
        keys
    }

    /// The halves of the keys as the two-integer lock functions take them.
    pub(crate) fn halves(&self, slots: &[Slot]) -> (Vec<i32>, Vec<i32>) {
        halves(slots.iter().map(|slot| self.entry(*slot).key()))
    }
}

/// The halves of keys as the two-integer lock functions take them: signed.
pub(super) fn halves(keys: impl Iterator<Item = Key>) -> (Vec<i32>, Vec<i32>) {
    keys.map(|key| (key.classid().cast_signed(), key.objid().cast_signed())).unzip()
}
