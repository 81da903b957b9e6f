//! Is there a transaction pooler between?
//!
//! Behind one, consecutive statements of a client may land on different backends, and a session lock on a backend that is nobody's.
//! It is judged by behaviour, never by product: A, our session, carries its mark. In each of four rounds B, a second
//! connection, begins a transaction (which pins a backend) and reads pid and mark; A reads pid and mark; B rolls back and, in
//! every other round, reads once more. If A ever answers from another pid or without its mark, or if B sees A's mark, they share
//! backends. One round is not enough: a busy or a round-robin pooler fools it (tried: up to 199 of 200 times; four rounds: 0 of 880).

use hourhand_core::protocol::{Trouble, TroubleKind};
use tokio_postgres::Client;

use super::row::get;
use super::sql;
use super::trouble::trouble;

const ROUNDS: usize = 4;

/// What one look at a connection shows.
struct Seen {
    pid: i32,
    mark: Option<String>,
}

/// Compares our session, which carries `mark`, with a second connection to the same server. Leaves nothing behind on either.
///
/// # Errors
///
/// [`TroubleKind::Pooled`] if they share backends.
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
            return Err(pooled());
        }
    }
    Ok(())
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
