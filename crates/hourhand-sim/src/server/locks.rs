//! The advisory locks of sessions: re-entrant, counted, gone with their session.

use std::collections::{BTreeMap, BTreeSet};

/// A lock: its key, and in which form it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lock {
    pub(crate) key: i64,
    pub(crate) form: Form,
}

/// The two key spaces of `pg_locks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// One bigint (`objsubid` 1): a job's lock.
    Bigint,
    /// Two integers (`objsubid` 2): its watch.
    Halves,
}

impl Lock {
    /// A job's lock.
    pub(crate) fn of(key: i64) -> Lock {
        Lock { key, form: Form::Bigint }
    }

    /// A job's watch.
    pub(crate) fn watch(key: i64) -> Lock {
        Lock { key, form: Form::Halves }
    }
}

/// Who holds what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    held: BTreeMap<Lock, (i32, u32)>,
    of: BTreeMap<i32, BTreeSet<Lock>>,
}

impl Locks {
    /// `pg_try_advisory_lock`: a session that has it takes it once more.
    pub(crate) fn try_take(&mut self, lock: Lock, pid: i32) -> bool {
        let (holder, count) = self.held.entry(lock).or_insert((pid, 0));
        if *holder != pid {
            return false;
        }
        *count += 1;
        self.of.entry(pid).or_default().insert(lock);
        true
    }

    /// `pg_advisory_unlock`: false if it was not the session's.
    pub(crate) fn let_go(&mut self, lock: Lock, pid: i32) -> bool {
        match self.held.get_mut(&lock) {
            Some((holder, count)) if *holder == pid => {
                *count -= 1;
                if *count == 0 {
                    self.held.remove(&lock);
                    self.of.entry(pid).and_modify(|locks| {
                        locks.remove(&lock);
                    });
                }
                true
            }
            Some(_) | None => false,
        }
    }

    /// All that a session holds is gone; says what it was.
    pub(crate) fn drop_all(&mut self, pid: i32) -> Vec<Lock> {
        let gone: Vec<Lock> = self.of.remove(&pid).into_iter().flatten().collect();
        for lock in &gone {
            self.held.remove(lock);
        }
        gone
    }

    /// Who holds it.
    pub(crate) fn holder(&self, lock: Lock) -> Option<i32> {
        self.held.get(&lock).map(|(holder, _)| *holder)
    }

    /// What a session holds.
    pub(crate) fn of_session(&self, pid: i32) -> impl Iterator<Item = Lock> + '_ {
        self.of.get(&pid).into_iter().flatten().copied()
    }

    /// Every lock with its holder and how often it was taken.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Lock, i32, u32)> + '_ {
        self.held.iter().map(|(lock, (holder, count))| (*lock, *holder, *count))
    }
}
