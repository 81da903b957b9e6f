//! Recording ends.

use std::collections::HashMap;

use hourhand_core::protocol::{Answer, End, EndAnswer, EndForm, Trouble};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::ask::Param;
use super::catalog::Catalog;
use super::row::{by_name, get, instant, instant_or_none};
use super::session::Session;
use super::text::{ERROR_BYTES_MAX, OUTPUT_BYTES_MAX, storable};
use super::tstz::{Tstz, seconds};

impl Session {
    pub(super) async fn end(
        &self,
        catalog: &Catalog,
        ends: &[End],
        alone: bool,
        outputs: &[Option<String>],
    ) -> Result<Answer, Trouble> {
        let names: Vec<&str> = ends.iter().map(|end| catalog.entry(end.slot).name()).collect();
        let epochs: Vec<i64> = ends.iter().map(|end| end.epoch).collect();
        let outcomes: Vec<&str> = ends.iter().map(|end| end.verdict.outcome.as_str()).collect();
        let full = |end: &End| end.form == EndForm::Full;
        let errors: Vec<Option<String>> = ends.iter().map(|end| error_of(end).filter(|_| full(end))).collect();
        let outputs: Vec<Option<String>> = ends
            .iter()
            .zip(outputs.iter().chain(std::iter::repeat(&None)))
            .map(|(end, output)| output.as_deref().filter(|_| full(end)).map(|text| storable(text, OUTPUT_BYTES_MAX)))
            .collect();
        let handled: Vec<bool> = ends.iter().map(|end| end.verdict.handled).collect();
        let counts: Vec<bool> = ends.iter().map(|end| end.verdict.counts).collect();
        let backoffs: Vec<f64> = ends.iter().map(|end| seconds(end.verdict.backoff)).collect();
        let skipped: Vec<i64> = ends.iter().map(|end| end.skipped.cast_signed()).collect();
        let skipped_for: Vec<_> = ends.iter().map(|end| end.skipped_for.map(Tstz)).collect();
        let history = ends.iter().all(|end| end.form != EndForm::RowAlone);
        let params: [Param<'_>; 11] = [
            (&names, Type::TEXT_ARRAY),
            (&epochs, Type::INT8_ARRAY),
            (&outcomes, Type::TEXT_ARRAY),
            (&errors, Type::TEXT_ARRAY),
            (&outputs, Type::TEXT_ARRAY),
            (&handled, Type::BOOL_ARRAY),
            (&counts, Type::BOOL_ARRAY),
            (&backoffs, Type::FLOAT8_ARRAY),
            (&skipped, Type::INT8_ARRAY),
            (&skipped_for, Type::TIMESTAMPTZ_ARRAY),
            (&history, Type::BOOL),
        ];
        let rows = match alone {
            true => self.rows(&self.statements.end_alone, &params).await?,
            false => self.rows_of_visit(ends.len(), |ready| &ready.end, &self.statements.end, &params).await?,
        };
        let rows = by_name(rows)?;
        let answers = ends.iter().zip(names).map(|(end, name)| answer(&rows, name, end));
        Ok(Answer::Ended(answers.collect::<Result<_, _>>()?))
    }
}

fn error_of(end: &End) -> Option<String> {
    end.verdict.error.as_deref().map(|error| storable(error, ERROR_BYTES_MAX))
}

fn answer(rows: &HashMap<String, Row>, name: &str, end: &End) -> Result<EndAnswer, Trouble> {
    let Some(row) = rows.get(name) else { return Ok(EndAnswer::Superseded) };
    if get(row, "recorded")? {
        return Ok(EndAnswer::Recorded {
            outcome: get(row, "outcome")?,
            handled_until: instant(row, "handled_until")?,
            open_for: instant_or_none(row, "open_for")?,
            not_before: instant_or_none(row, "not_before")?,
        });
    }
    let (epoch, ended): (Option<i64>, Option<i64>) = (get(row, "row_epoch")?, get(row, "row_ended_epoch")?);
    Ok(match (epoch, ended) {
        (Some(epoch), Some(ended)) if epoch == end.epoch && ended == end.epoch => {
            EndAnswer::RecordedBefore { outcome: get::<Option<String>>(row, "outcome")?.unwrap_or_default() }
        }
        (Some(epoch), Some(_)) if epoch == end.epoch => EndAnswer::RowLocked,
        // The row is gone (the job was forgotten, the schema made anew), or a later run has started.
        _ => EndAnswer::Superseded,
    })
}
