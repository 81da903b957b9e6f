//! Leases: exclusion for those who have nothing but a transaction pooler.
//!
//! A row a job says who may run it, until when, by the server's clock; pings prolong it. Behind a pooler nothing belongs to the
//! connection, so every statement goes in a transaction of its own, with `set local` for its bounds, all sent in one go; no
//! mark, no session setting, no LISTEN. The kinds exclude each other: a lease is not to be had while somebody holds the job's
//! key, and a start of either kind locks both rows and asks for both again.

use std::time::Duration;

use hourhand_core::protocol::{Answer, Proof, Slot, Trouble};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::ask::{Param, in_transaction};
use super::catalog::Catalog;
use super::row::{by_name, get};
use super::session::Session;
use super::trouble::unexpected;

/// How a session that takes leases signs them.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    /// Of this node alone, for as long as it lives.
    pub(crate) token: String,
    /// Begins each transaction, with its bounds.
    pub(super) begin: String,
}

impl Signature {
    /// For a node whose statements may take so long.
    pub(crate) fn new(token: String, statement_bound: Duration, lock_bound: Duration) -> Signature {
        let (statement, lock) = (statement_bound.as_millis(), lock_bound.as_millis());
        let begin = format!(
            "begin isolation level read committed read write; set local statement_timeout = {statement}; \
             set local lock_timeout = {lock}; set local synchronous_commit = on"
        );
        Signature { token, begin }
    }
}

impl Session {
    /// One statement in a transaction of its own; its three parts are sent together.
    pub(super) async fn rows_in_transaction(
        &self,
        begin: &str,
        statement: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Trouble> {
        in_transaction(&self.client, begin, statement, params).await
    }

    pub(super) async fn take_leases(
        &self,
        catalog: &Catalog,
        slots: &[Slot],
        signature: &Signature,
    ) -> Result<Answer, Trouble> {
        let (names, ttl) = (catalog.names(slots), self.ttl.as_secs_f64());
        let params: [Param<'_>; 4] = [
            (&names, Type::TEXT_ARRAY),
            (&catalog.node, Type::TEXT),
            (&signature.token, Type::TEXT),
            (&ttl, Type::FLOAT8),
        ];
        let rows = by_name(self.rows(&self.statements.take_leases, &params).await?)?;
        let granted = names.iter().map(|name| rows.get(*name).map(|row| get(row, "granted")).transpose());
        let granted: Vec<Option<bool>> = granted.collect::<Result<_, Trouble>>()?;
        // A job without a row cannot be had; it is not a sign of a shared session.
        Ok(Answer::Tried(granted.into_iter().map(|granted| Some(granted.unwrap_or(false))).collect()))
    }

    pub(super) async fn renew_leases(
        &self,
        catalog: &Catalog,
        runs: &[(Slot, i64)],
        signature: &Signature,
    ) -> Result<Answer, Trouble> {
        let names: Vec<&str> = runs.iter().map(|(slot, _)| catalog.entry(*slot).name()).collect();
        let epochs: Vec<i64> = runs.iter().map(|(_, epoch)| *epoch).collect();
        let ttl = self.ttl.as_secs_f64();
        let params: [Param<'_>; 4] = [
            (&names, Type::TEXT_ARRAY),
            (&epochs, Type::INT8_ARRAY),
            (&signature.token, Type::TEXT),
            (&ttl, Type::FLOAT8),
        ];
        let rows = self.rows(&self.statements.renew_leases, &params).await?;
        let row = rows.first().ok_or_else(|| unexpected("the renewal returned no row"))?;
        let owned: Vec<String> = get(row, "owned")?;
        let owns = |slot: &Slot| owned.iter().any(|name| name == catalog.entry(*slot).name());
        Ok(Answer::Pinged(Proof {
            marked: true,
            read_only: false,
            owned: runs.iter().map(|(slot, _)| *slot).filter(owns).collect(),
            cancelled: get(row, "cancelled")?,
        }))
    }

    pub(super) async fn release_leases(
        &self,
        catalog: &Catalog,
        slots: &[Slot],
        signature: &Signature,
    ) -> Result<Answer, Trouble> {
        let names = catalog.names(slots);
        let params: [Param<'_>; 2] = [(&names, Type::TEXT_ARRAY), (&signature.token, Type::TEXT)];
        let rows = self.rows(&self.statements.release_leases, &params).await?;
        let released = rows.iter().map(|row| get(row, "released")).collect::<Result<Vec<bool>, _>>()?;
        Ok(Answer::Unlocked(released.into_iter().all(|released| released)))
    }

    pub(super) async fn reconcile_leases(
        &self,
        catalog: &Catalog,
        keep: &[Slot],
        signature: &Signature,
    ) -> Result<Answer, Trouble> {
        let names = catalog.names(keep);
        let params: [Param<'_>; 2] = [(&names, Type::TEXT_ARRAY), (&signature.token, Type::TEXT)];
        let rows = self.rows(&self.statements.reconcile_leases, &params).await?;
        let row = rows.first().ok_or_else(|| unexpected("the leases could not be listed"))?;
        let kept: Vec<String> = get(row, "kept")?;
        Ok(Answer::Reconciled { complete: kept.len() == names.len() })
    }
}
