//! Who a visitor is, and what may be done.

use std::sync::Arc;

use axum::http::request::Parts;

/// What a visitor may do. Whoever mounts the dashboard decides; nothing is shown unless that says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    #[default]
    Denied,
    /// See everything, change nothing: no buttons are shown, and none would work.
    ReadOnly,
    /// See everything, and act.
    Full,
}

impl Access {
    /// The visitor, by name: what they do is on record as theirs.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Visitor {
        Visitor { access: self, name: Some(name.into()) }
    }
}

/// A visitor: what they may do, and their name where it is known. Without a name, what they do is on record as the operator's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visitor {
    pub(crate) access: Access,
    pub(crate) name: Option<String>,
}

impl From<Access> for Visitor {
    fn from(access: Access) -> Visitor {
        Visitor { access, name: None }
    }
}

/// Asked with the head of every request.
pub(crate) type Doorkeeper = Arc<dyn Fn(&Parts) -> Visitor + Send + Sync>;
