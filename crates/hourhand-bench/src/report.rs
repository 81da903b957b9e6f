//! All that is known about a measurement: the table, and the same as JSON with every number.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::figure::{self, Shown};
use crate::machine;
use crate::spans::Spans;

/// All that is known about a measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    machine: String,
    /// Of the server, the pooler, the compiler and the interpreters, as far as they are there.
    versions: BTreeMap<&'static str, String>,
    spans: Spans,
    /// The load of the machine before, and when this was written.
    load: [f64; 2],
    /// A column each.
    pub(crate) shown: Vec<Shown>,
}

impl Report {
    /// Nothing is measured yet; on that PostgreSQL, if on any.
    pub(crate) fn begin(spans: Spans, postgresql: Option<&str>) -> Self {
        let load = machine::load();
        let mut versions = machine::versions();
        versions.extend(postgresql.map(|version| ("PostgreSQL", version.to_owned())));
        Self { machine: machine::described(), versions, spans, load: [load, load], shown: Vec::new() }
    }

    /// With these columns.
    pub(crate) fn with(self, shown: Vec<Shown>) -> Self {
        Self { shown, ..self }
    }

    /// Writes the JSON, if it is wanted; after every scenario, so that one that hangs costs only itself.
    ///
    /// # Errors
    ///
    /// If the file can't be written.
    pub(crate) fn save(&mut self, path: Option<&Path>) -> Result<()> {
        self.load[1] = machine::load();
        let Some(path) = path else { return Ok(()) };
        std::fs::write(path, serde_json::to_string_pretty(self)?)
            .with_context(|| format!("could not write {}", path.display()))
    }

    /// The table, and on what it was taken.
    pub(crate) fn text(&self) -> String {
        let versions: Vec<String> = self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let ([before, after], table) = (self.load, figure::table(&self.shown));
        let versions = versions.join(", ");
        format!("{table}\nMeasured on {}; {versions}; load {before} before, {after} after.", self.machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;
    use crate::subject::HOURHAND;

    fn report() -> Report {
        let shown = vec![HOURHAND.shown(vec![Figure::number("late", 2.0, "ms").with_raw(&[1.0, 2.0])])];
        let versions = [("Node", "20.20.2"), ("PgBouncer", "1.18.0"), ("PostgreSQL", "15.18")];
        let versions = versions.map(|(name, version)| (name, version.to_owned())).into();
        Report { machine: "2 cores".to_owned(), versions, spans: Spans::Short, load: [0.5, 1.5], shown }
    }

    #[test]
    fn the_versions_stand_below_the_table() {
        let text = report().text();
        assert!(text.contains("| late | 2.00 ms |"), "{text}");
        let below =
            "Measured on 2 cores; Node 20.20.2, PgBouncer 1.18.0, PostgreSQL 15.18; load 0.5 before, 1.5 after.";
        assert!(text.ends_with(below), "{text}");
    }

    #[test]
    fn what_is_saved_holds_the_versions_and_every_number() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("report.json");
        report().save(Some(&file)).unwrap();
        let saved: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(saved["versions"]["PgBouncer"], "1.18.0");
        assert_eq!(saved["spans"], "short");
        assert_eq!(saved["shown"][0]["figures"][0]["raw"], serde_json::json!([1.0, 2.0]));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let error = report().save(Some(Path::new("/no/such/place"))).unwrap_err().to_string();
        assert_eq!(error, "could not write /no/such/place");
    }
}
