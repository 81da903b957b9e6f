//! What is wrong, why it matters, and what to do about it, word for word: what `hourhand doctor` says.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::{Finding, Severity};

use crate::app::App;
use crate::ctx::Ctx;
use crate::fail::Fail;
use crate::frame::Frame;

/// So many of a kind.
const OF_KIND_MAX: usize = 5;

#[derive(Template)]
#[template(path = "health.html")]
struct Page {
    frame: Frame,
    findings: Vec<Finding>,
    /// Kinds of which there are more, and how many more.
    rest: Vec<(&'static str, usize)>,
    errors: usize,
    warnings: usize,
}

/// `health`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx) -> Response {
    ctx.show(page(&app, &ctx).await)
}

async fn page(app: &App, ctx: &Ctx) -> Result<Page, Fail> {
    let version = app.hub().version();
    let findings = app.hub().shared("health".to_owned(), app.operator().examine()).await?;
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let (findings, rest) = some_of_each(&findings);
    Ok(Page { frame: Frame::new(ctx, "health", version), findings, rest, errors, warnings })
}

/// A thousand jobs may have the same trouble for the same reason: some of a kind are shown, and the rest counted.
fn some_of_each(findings: &[Finding]) -> (Vec<Finding>, Vec<(&'static str, usize)>) {
    let mut seen: BTreeMap<&'static str, usize> = BTreeMap::new();
    let is_among_some = |finding: &&Finding| {
        let of_kind = seen.entry(finding.id).or_default();
        *of_kind += 1;
        *of_kind <= OF_KIND_MAX
    };
    let some = findings.iter().filter(is_among_some).cloned().collect();
    let rest = seen.into_iter().filter(|(_, count)| *count > OF_KIND_MAX);
    (some, rest.map(|(kind, count)| (kind, count - OF_KIND_MAX)).collect())
}
