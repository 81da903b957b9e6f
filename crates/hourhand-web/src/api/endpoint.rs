//! What can be asked for, and with what.

use axum::routing::MethodRouter;

use crate::app::App;

/// Something that can be asked for.
pub(crate) struct Endpoint {
    pub(super) path: &'static str,
    /// By POST; what only shows something is asked for by GET.
    pub(super) is_act: bool,
    /// What it does, in a line.
    pub(super) summary: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// The name of the answer's schema; with `[]` a list of it.
    pub(super) answer: &'static str,
    pub(super) handler: fn() -> MethodRouter<App>,
}

/// A parameter of the query.
pub(crate) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) what: &'static str,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    OneOf(&'static [&'static str]),
    /// From this one to that one, both included.
    Number(i64, i64),
    /// As the command reads it; what has no zone is UTC.
    Instant,
    Flag,
}

pub(super) const fn must(name: &'static str, kind: Kind, what: &'static str) -> Parameter {
    Parameter { name, kind, is_required: true, what }
}

pub(super) const fn may(name: &'static str, kind: Kind, what: &'static str) -> Parameter {
    Parameter { name, kind, is_required: false, what }
}

/// What shows something.
pub(super) const fn see(path: &'static str, summary: &'static str, handler: fn() -> MethodRouter<App>) -> Endpoint {
    Endpoint { path, is_act: false, summary, parameters: &[], answer: "Answer", handler }
}

/// What does something.
pub(super) const fn act(path: &'static str, summary: &'static str, handler: fn() -> MethodRouter<App>) -> Endpoint {
    Endpoint { is_act: true, ..see(path, summary, handler) }
}

impl Endpoint {
    pub(super) const fn with(self, parameters: &'static [Parameter]) -> Endpoint {
        Endpoint { parameters, ..self }
    }

    pub(super) const fn answers(self, answer: &'static str) -> Endpoint {
        Endpoint { answer, ..self }
    }
}
