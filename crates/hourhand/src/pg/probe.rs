//! Is there a transaction pooler between?
//!
//! Behind one, consecutive statements of a client may land on different backends, and a session lock on a backend that is nobody's.
//! It is judged by behaviour, never by product: A, our session, carries its mark. In each of four rounds B, a second
//! connection, begins a transaction (which pins a backend) and reads pid and mark; A reads pid and mark; B rolls back and, in
//! every other round, reads once more. If A ever answers from another pid or without its mark, or if B sees A's mark, they share
//! backends. One round is not enough: a busy or a round-robin pooler fools it (tried: up to 199 of 200 times; four rounds: 0 of 880).

use std::time::Duration;

use hourhand_core::protocol::{Trouble, TroubleKind};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::row::get;
use super::sql;
use super::trouble::trouble;

const ROUNDS: usize = 4;

/// What one look at a connection shows.
struct Seen {
    pid: i32,
    mark: Option<String>,
}

/// How long the mark is looked for on a pooler's backends, to be taken off again. Usually found in milliseconds.
const UNMARK_WITHIN: Duration = Duration::from_secs(2);

/// Compares our session, which carries `mark`, with a second connection to the same server. Leaves nothing behind on either.
///
/// # Errors
///
/// [`TroubleKind::Pooled`] if they share backends; then the mark has been taken off again.
pub(super) async fn probe(ours: &Client, mark: &str, other: &Client) -> Result<(), Trouble> {
    let first = look(ours).await?;
    for round in 0..ROUNDS {
        other.batch_execute("begin").await.map_err(|error| trouble(&error))?;
        let seen = async { Ok::<_, Trouble>((look(other).await?, look(ours).await?)) }.await;
        // Whatever was seen, the transaction must not stay open on somebody's backend.
        other.batch_execute("rollback").await.map_err(|error| trouble(&error))?;
        let (theirs, own) = seen?;
        let again = if round % 2 == 1 { Some(look(other).await?) } else { None };
        let strayed = own.pid != first.pid || own.mark.as_deref() != Some(mark);
        let met = std::iter::once(&theirs).chain(&again).any(|seen| seen.mark.as_deref() == Some(mark));
        if strayed || met {
            // A mark that is not found (its backend is busy with somebody's long transaction) is a setting that nobody reads.
            let _ = tokio::time::timeout(UNMARK_WITHIN, unmark(ours, mark, other)).await;
            return Err(pooled());
        }
    }
    Ok(())
}

/// Takes the mark off the backend that carries it, whichever that is. Every other try goes while the second connection pins a
/// backend, or a pooler that always hands out the one used last would never come to the marked one.
async fn unmark(ours: &Client, mark: &str, other: &Client) -> Result<(), tokio_postgres::Error> {
    let take_off = async |client: &Client| {
        let row = client.query_typed_one(sql::UNMARK, &[(&mark, Type::TEXT)]).await?;
        row.try_get::<_, bool>("unmarked")
    };
    loop {
        if take_off(ours).await? {
            return Ok(());
        }
        other.batch_execute("begin").await?;
        let unmarked = async { Ok::<_, tokio_postgres::Error>(take_off(other).await? || take_off(ours).await?) }.await;
        // Rolled back, the mark would be on again.
        other.batch_execute("commit").await?;
        if unmarked? {
            return Ok(());
        }
    }
}

async fn look(client: &Client) -> Result<Seen, Trouble> {
    let row = client.query_typed_one(sql::IDENTITY, &[]).await.map_err(|error| trouble(&error))?;
    Ok(Seen { pid: get(&row, "pid")?, mark: get(&row, "mark")? })
}

fn pooled() -> Trouble {
    let text = "a transaction pooler stands between: a session lock behind it is nobody's. Give a direct URL for the \
                scheduler's session (session_url), or use leases";
    Trouble { kind: TroubleKind::Pooled, text: text.to_owned() }
}
