//! The 64-bit keys of PostgreSQL's advisory locks: a wire format.
//!
//! A job's key is the BLAKE2b hash, with a digest of 8 bytes, of its name in UTF-8, read big-endian as a signed
//! integer. With a namespace the hash is of `namespace:name`. Nothing else goes in: not the schema, not the
//! version. Every language can compute it in a line, so a Django process and a Rust one exclude each other:
//!
//! ```python
//! int.from_bytes(hashlib.blake2b(b"order-sync", digest_size=8).digest(), "big", signed=True)
//! ```
//!
//! The format is frozen by `testdata/keys.txt`: during a rolling deploy an old node and a new one must compute the
//! same key, or both would run the job. For the same reason the hash is a specified one of 64 bits: the standard
//! library's may change with the compiler, and 32 bits collide among a few ten thousand names.
//!
//! Locks of our own have names that no job can bear: a group's begins with a control character, the migration's is
//! refused as a job name ([`crate::name`]).

use std::fmt;

use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest as _};

use crate::name::{JobName, Namespace};

/// The key of an advisory lock, as `pg_try_advisory_lock(bigint)` takes it: PostgreSQL's `bigint`.
///
/// ```
/// use hourhand_core::key::Key;
/// use hourhand_core::name::{JobName, Namespace};
///
/// let job = JobName::parse("order-sync")?;
/// assert_eq!(Key::of(None, &job).0, 2882680683948311330);
/// assert_ne!(Key::of(Some(&Namespace::parse("staging")?), &job), Key::of(None, &job));
/// # Ok::<(), hourhand_core::name::NameError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub i64);

impl Key {
    /// The key under which the schema is migrated: that of the name `hourhand`, in no namespace, because a
    /// database is migrated by one process at a time whatever its namespace.
    pub const MIGRATION: Key = Key(2678981607186244039);

    /// The key of a job.
    #[must_use]
    pub fn of(namespace: Option<&Namespace>, name: &JobName) -> Key {
        Key::hash(namespace, &[name.as_str()])
    }

    /// The key of a group of jobs that never overlap: that of the name `\x1fgroup:NAME`, which no job can bear.
    #[must_use]
    pub fn of_group(namespace: Option<&Namespace>, group: &JobName) -> Key {
        Key::hash(namespace, &["\u{1f}group:", group.as_str()])
    }

    /// The digest that keys are made of, of any text.
    #[must_use]
    pub fn digest(text: &str) -> Key {
        Key::hash(None, &[text])
    }

    /// The key from its halves, as `pg_locks` shows them.
    #[must_use]
    pub const fn from_halves(classid: u32, objid: u32) -> Key {
        Key((((classid as u64) << 32) | objid as u64).cast_signed())
    }

    /// The key as PostgreSQL's `bigint`.
    #[must_use]
    pub const fn value(self) -> i64 {
        self.0
    }

    /// The upper half: `classid` in `pg_locks`, where `objsubid` is 1.
    #[must_use]
    pub const fn classid(self) -> u32 {
        (self.0.cast_unsigned() >> 32) as u32
    }

    /// The lower half: `objid` in `pg_locks`.
    #[must_use]
    pub const fn objid(self) -> u32 {
        (self.0.cast_unsigned() & 0xffff_ffff) as u32
    }

    /// The key of `namespace:` and the parts, one after another.
    fn hash(namespace: Option<&Namespace>, parts: &[&str]) -> Key {
        let mut hasher = Blake2b::<U8>::new();
        if let Some(namespace) = namespace {
            hasher.update(namespace.as_str());
            hasher.update(":");
        }
        for part in parts {
            hasher.update(part);
        }
        Key(i64::from_be_bytes(hasher.finalize().into()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
