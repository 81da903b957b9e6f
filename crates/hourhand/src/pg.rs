//! The only room that speaks SQL, and the only one that knows the server. It decides nothing, retries nothing, sleeps nowhere.
//!
//! Every statement is sent unnamed (`query_typed`): a named one would be lost behind a transaction pooler.

mod ask;
mod catalog;
pub(crate) mod conninfo;
pub(crate) mod definition;
mod ear;
mod end;
mod groups;
mod lease;
mod line;
mod maintain;
pub(crate) mod migrate;
mod operator;
mod order;
mod pages;
#[cfg(test)]
mod prepared;
mod probe;
mod ready;
pub(crate) mod row;
mod session;
mod sql;
mod text;
mod tls;
mod trouble;
pub(crate) mod tstz;
#[cfg(test)]
mod windows_leave_no_gap;

pub(crate) use ask::Param;
pub(crate) use catalog::{Catalog, Entry};
pub(crate) use ear::Ear;
pub(crate) use lease::Signature;
pub(crate) use line::{Line, STATEMENT_BOUND};
pub(crate) use operator::OperatorStatements;
pub(crate) use pages::PageStatements;
pub(crate) use session::{Former, Opened, Session, SessionSettings};
pub(crate) use sql::{Schema, Statements};
pub(crate) use text::OUTPUT_BYTES_MAX;
pub(crate) use trouble::{lost, remedy};
