//! The names of jobs and of namespaces, checked once, at the door.
//!
//! A job's name is written in two wire formats at once: it is what people and tables call the job, and it is what
//! the lock's key is computed from ([`crate::key`]). Two programs that mean one job must therefore write the same
//! bytes, and Unicode makes that less certain than it looks: `naïve` can be typed as five letters or as six code
//! points, both look alike on every screen, and the two have different keys. So a name is accepted in Unicode's
//! composed form (NFC) only, and a name in another form is refused with the right one, never quietly rewritten: a
//! rewritten name would differ from what a Python process beside us computes its key from.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::plain;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// The longest name of a job or namespace, in bytes of UTF-8.
pub const NAME_BYTES_MAX: usize = 128;

/// The one name that no job may bear: its key locks migrations.
const MIGRATION_NAME: &str = "hourhand";

/// The name of a job: 1 to 128 bytes of NFC text, not blank, without control characters and such as turn the direction of writing or
/// are not seen (people know jobs by what they read), and not `hourhand`.
///
/// Upper and lower case differ, spaces count. A clone costs one reference count.
///
/// ```
/// use hourhand_core::name::JobName;
///
/// let name = JobName::parse("order-sync:42")?;
/// assert_eq!(name.as_str(), "order-sync:42");
/// assert!(JobName::parse("hourhand").is_err());
/// # Ok::<(), hourhand_core::name::NameError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobName(Arc<str>);

/// The first part of every key of a deployment that shares its database with another: `namespace:name` is hashed.
///
/// The same rules as for [`JobName`], and no `:`, so that it is always clear where the namespace ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(Arc<str>);

/// Why a name is refused. The message says where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing is there.
    #[error("the name is empty: 1 to {NAME_BYTES_MAX} bytes are right")]
    Empty,
    /// More than [`NAME_BYTES_MAX`] bytes.
    #[error("the name is {bytes} bytes long (it begins {start:?}): at most {NAME_BYTES_MAX} bytes of UTF-8 are right")]
    TooLong {
        /// How many bytes it has.
        bytes: usize,
        /// Its first letters, to know it by.
        start: String,
    },
    /// A control character: a line break, a tab, a NUL and the like.
    #[error("the name {name:?} has the control character {control:?} at byte {at}: leave it out")]
    Control {
        /// The name as given.
        name: String,
        /// The character.
        control: char,
        /// Where it stands.
        at: usize,
    },
    /// Nothing but blanks.
    #[error("the name {name:?} is blank: something to be seen is right")]
    Blank {
        /// The name as given.
        name: String,
    },
    /// A sign that turns the direction of writing, or is not seen: the name would read otherwise than it is.
    #[error("the name {name:?} has {sign:?} at byte {at}, which is not seen and makes it read otherwise: leave it out")]
    Unseen {
        /// The name as given.
        name: String,
        /// The sign.
        sign: char,
        /// Where it stands.
        at: usize,
    },
    /// Not in Unicode's composed form.
    #[error(
        "the name \"{}\" is not in Unicode's composed form (NFC): \"{}\" is right, which looks the same: {right}",
        escaped(name),
        escaped(right)
    )]
    NotComposed {
        /// The name as given.
        name: String,
        /// The same text in NFC.
        right: String,
    },
    /// The name of hourhand's own migration lock.
    #[error("the name \"hourhand\" is kept for the lock of migrations: choose another, such as \"hourhand-job\"")]
    Reserved,
    /// A namespace with the sign that ends it.
    #[error("the namespace {name:?} has a ':' at byte {at}, which is what ends a namespace: leave it out")]
    Colon {
        /// The namespace as given.
        name: String,
        /// Where the first one stands.
        at: usize,
    },
}

impl JobName {
    /// Checks a name.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks, see [`NameError`].
    pub fn parse(name: &str) -> Result<JobName, NameError> {
        check(name)?;
        match name {
            MIGRATION_NAME => Err(NameError::Reserved),
            _ => Ok(JobName(name.into())),
        }
    }

    /// The name's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Namespace {
    /// Checks a namespace.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks, see [`NameError`].
    pub fn parse(name: &str) -> Result<Namespace, NameError> {
        check(name)?;
        match name.find(':') {
            Some(at) => Err(NameError::Colon { name: name.to_owned(), at }),
            None => Ok(Namespace(name.into())),
        }
    }

    /// The namespace's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What job names and namespaces have in common.
fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong { bytes: name.len(), start: name.chars().take(24).collect() });
    }
    if let Some((at, control)) = name.char_indices().find(|(_, c)| c.is_control()) {
        return Err(NameError::Control { name: name.to_owned(), control, at });
    }
    if let Some((at, sign)) = name.char_indices().find(|(_, sign)| plain::steers(*sign)) {
        return Err(NameError::Unseen { name: name.to_owned(), sign, at });
    }
    if name.trim().is_empty() {
        return Err(NameError::Blank { name: name.to_owned() });
    }
    if !is_nfc(name) {
        return Err(NameError::NotComposed { name: name.to_owned(), right: name.nfc().collect() });
    }
    Ok(())
}

/// The text with everything outside ASCII as `\u{…}`: two forms of one text look alike on every screen.
fn escaped(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

/// The conversions that both kinds of name share.
macro_rules! text_of_a_name {
    ($name:ident) => {
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(name: &str) -> Result<$name, NameError> {
                $name::parse(name)
            }
        }
    };
}

text_of_a_name!(JobName);
text_of_a_name!(Namespace);
