//! The pages. Each reads what it shows, as far as it can shared with all who look at the same, and hands it to its template.

pub(crate) mod audit;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod locks;
pub(crate) mod nodes;
pub(crate) mod overview;
pub(crate) mod run;
mod standing;

pub(crate) use standing::occasion;

use axum::http::Uri;
use axum::response::{IntoResponse, Response};

use crate::ctx::Ctx;
use crate::fail::{Fail, is_for_programs};

/// Counted so far and no further.
pub(crate) const COUNT_MAX: u32 = 10_000;

/// A count that stops at [`COUNT_MAX`].
pub(crate) fn capped(count: u32) -> String {
    if count > COUNT_MAX { "10,000+".to_owned() } else { thousands(count) }
}

fn thousands(count: u32) -> String {
    match count {
        ..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    }
}

/// Nothing is at this address.
pub(crate) async fn nothing(ctx: Ctx, uri: Uri) -> Response {
    let nothing = Fail::NotFound("there is nothing at this address".to_owned());
    if is_for_programs(&uri) { nothing.into_response() } else { ctx.refuse(nothing) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_says_where_it_stopped() {
        assert_eq!(capped(0), "0");
        assert_eq!(capped(9_999), "9,999");
        assert_eq!(capped(10_000), "10,000");
        assert_eq!(capped(10_001), "10,000+");
    }
}
