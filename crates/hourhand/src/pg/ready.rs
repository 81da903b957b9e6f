//! The statements of a visit, prepared on a session that will send them again.
//!
//! To plan a look or a start takes the server ten times as long as to carry it out for a few jobs. So on a session that stays, while
//! nothing is due, the statements of a visit are parsed, planned and carried out once, for no job at all: what comes due then costs three
//! short trips. Only a session of its own can do that; behind a transaction pooler a name would be lost, and there the probe has refused
//! before. Should a pooler come between later, the server knows none of the names, and the session is taken for shared.
//!
//! A plan that is made once serves any number of jobs, and is made for about ten. More than [`FEW`] go unnamed, as does everything else,
//! and are planned for what they are: with a thousand jobs and ten thousand locks in the server a look took 500 ms by the plan for
//! ten, and 20 ms by its own.

use hourhand_core::protocol::{Answer, Trouble};
use tokio_postgres::{Client, Row, Statement};

use super::ask::Param;
use super::catalog::Catalog;
use super::session::Session;
use super::sql::{self, Statements};
use super::trouble::trouble;

/// As many jobs as a plan for any number is good for.
const FEW: usize = 16;

/// From then on, what has a name is planned once. For the session, since the server asks for it with each statement.
const PLAN_ONCE: &str = "set plan_cache_mode = force_generic_plan";
/// Planned for what it is about.
const PLAN_EACH: &str = "set plan_cache_mode = auto";

/// By the name of their question.
pub(super) struct Ready {
    pub(super) look: Statement,
    pub(super) try_locks: Statement,
    pub(super) start: Statement,
    pub(super) ping: Statement,
    pub(super) end: Statement,
    pub(super) unlock: Statement,
}

impl Ready {
    /// One round trip.
    #[expect(clippy::disallowed_methods, reason = "the session is ours alone")]
    async fn of(client: &Client, statements: &Statements) -> Result<Ready, tokio_postgres::Error> {
        let (look, try_locks, start, ping, end, unlock) = tokio::try_join!(
            client.prepare(&statements.look),
            client.prepare(sql::TRY_LOCKS),
            client.prepare(&statements.start),
            client.prepare(&statements.ping),
            client.prepare(&statements.end),
            client.prepare(sql::UNLOCK),
        )?;
        Ok(Ready { look, try_locks, start, ping, end, unlock })
    }
}

impl Session {
    /// Two round trips. What the server will not prepare goes on as it did: nothing depends on it.
    pub(super) async fn prepare(&self, catalog: &Catalog) -> Result<Answer, Trouble> {
        match Ready::of(&self.client, &self.statements).await {
            Ok(ready) => drop(self.ready.set(ready)),
            Err(error) => {
                tracing::debug!("the statements of a visit are not prepared on this session: {}", trouble(&error).text);
                return Ok(Answer::Prepared);
            }
        }
        // In this order: each is sent when first polled.
        let (planned, look, locks, start, end, unlock) = tokio::join!(
            biased;
            self.client.batch_execute(PLAN_ONCE),
            self.look(catalog, &[], false),
            self.try_locks(catalog, &[]),
            self.start(catalog, &[], false),
            self.end(catalog, &[], false, &[]),
            self.unlock(&[]),
        );
        planned.map_err(|error| trouble(&error))?;
        [look, locks, start, end, unlock].into_iter().collect::<Result<Vec<Answer>, Trouble>>()?;
        Ok(Answer::Prepared)
    }

    /// The rows of a statement of a visit, about so many jobs.
    #[expect(clippy::disallowed_methods, reason = "the statement is named, on a session that is ours alone")]
    pub(super) async fn rows_of_visit(
        &self,
        jobs: usize,
        which: fn(&Ready) -> &Statement,
        statement: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Trouble> {
        let Some(ready) = self.ready.get().filter(|_| jobs <= FEW) else { return self.rows(statement, params).await };
        let values: Vec<_> = params.iter().map(|(value, _)| *value).collect();
        self.client.query(which(ready), &values).await.map_err(|error| trouble(&error))
    }

    /// The rows of an unnamed statement, on a session that has named ones.
    pub(super) async fn rows_planned_apart(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Trouble> {
        // In this order, all sent in one go.
        let (apart, rows, again) = tokio::join!(
            biased;
            self.client.batch_execute(PLAN_EACH),
            self.client.query_typed(statement, params),
            self.client.batch_execute(PLAN_ONCE),
        );
        let rows = rows.map_err(|error| trouble(&error))?;
        apart.and(again).map_err(|error| trouble(&error))?;
        Ok(rows)
    }
}
