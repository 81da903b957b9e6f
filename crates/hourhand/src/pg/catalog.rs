//! The jobs of a node, in the columns that statements take.

use std::collections::HashMap;
use std::sync::Arc;

use hourhand_core::job::{Definition, Starts};
use hourhand_core::key::Key;
use hourhand_core::protocol::Slot;
use jiff::SignedDuration;

use super::definition;

/// What statements need to know of a job.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) key: Key,
    /// The key of its group.
    pub(crate) group: Option<Key>,
    /// The definition as json, for other nodes and for people; none: this node defines nothing, and whatever stands there is right.
    pub(crate) body: Option<String>,
    /// Tells definitions apart.
    pub(crate) fingerprint: Option<i64>,
    pub(crate) lookback_seconds: f64,
    pub(crate) initial_window_seconds: f64,
    pub(crate) window_max_seconds: Option<f64>,
    pub(crate) retention_seconds: f64,
}

impl Entry {
    /// The columns of a definition, in a process with this start delay.
    pub(crate) fn of(job: &Definition, start_delay: SignedDuration) -> Entry {
        let body = definition::write(job, start_delay);
        let registers = job.starts == Starts::BySchedule;
        Entry {
            name: job.name.to_string(),
            key: job.key,
            group: job.group.as_ref().map(|group| group.key),
            fingerprint: registers.then(|| definition::fingerprint(&body)),
            body: registers.then_some(body),
            lookback_seconds: job.lookback.as_secs_f64(),
            initial_window_seconds: job.initial_window.as_secs_f64(),
            retention_seconds: job.retention.as_secs_f64(),
            window_max_seconds: job.window_max.map(|length| length.as_secs_f64()),
        }
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
        entries.filter_map(|(at, entry)| Some((Slot(at), by_name.get(&entry.as_ref()?.name)?)))
    }

    pub(crate) fn names(&self, slots: &[Slot]) -> Vec<&str> {
        slots.iter().map(|slot| self.entry(*slot).name.as_str()).collect()
    }

    pub(crate) fn fingerprints(&self, slots: &[Slot]) -> Vec<Option<i64>> {
        slots.iter().map(|slot| self.entry(*slot).fingerprint).collect()
    }

    pub(crate) fn keys(&self, slots: &[Slot]) -> Vec<i64> {
        slots.iter().map(|slot| self.entry(*slot).key.0).collect()
    }

    /// The keys of their groups, one a job.
    pub(crate) fn groups(&self, slots: &[Slot]) -> Vec<Option<i64>> {
        slots.iter().map(|slot| self.entry(*slot).group.map(|group| group.0)).collect()
    }

    /// All that the session holds when it has these jobs: their locks, then those of their groups.
    pub(crate) fn held_for(&self, slots: &[Slot]) -> Vec<i64> {
        let mut keys = self.keys(slots);
        keys.extend(self.groups(slots).into_iter().flatten());
        keys
    }

    /// The halves of the keys as the two-integer lock functions take them.
    pub(crate) fn halves(&self, slots: &[Slot]) -> (Vec<i32>, Vec<i32>) {
        halves(slots.iter().map(|slot| self.entry(*slot).key))
    }
}

/// The halves of keys as the two-integer lock functions take them: signed.
pub(super) fn halves(keys: impl Iterator<Item = Key>) -> (Vec<i32>, Vec<i32>) {
    keys.map(|key| (key.classid().cast_signed(), key.objid().cast_signed())).unzip()
}
