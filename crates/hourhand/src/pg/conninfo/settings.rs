//! The settings that were made, each with the place that made it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::environment::Environment;
use super::error::{ConninfoError, Place, Problem};
use super::parameter::{self, PARAMETERS, Parameter, Treatment};

/// Values by name of parameter. It holds the password: there is no `Debug`.
#[derive(Default)]
pub(super) struct Settings {
    made: BTreeMap<&'static str, Setting>,
}

pub(super) struct Setting {
    value: String,
    place: Place,
}

impl Settings {
    /// Sets a parameter; a later word counts, as in libpq.
    pub(super) fn set(&mut self, parameter: &Parameter, value: String, place: Place) {
        self.made.insert(parameter.name, Setting { value, place });
    }

    /// Sets a parameter that nothing was said about so far.
    pub(super) fn fill(&mut self, parameter: &Parameter, value: &str, place: Place) {
        self.made.entry(parameter.name).or_insert_with(|| Setting { value: value.to_owned(), place });
    }

    /// Takes from the environment what was not said.
    pub(super) fn fill_from(&mut self, environment: &Environment) -> Result<(), ConninfoError> {
        for parameter in PARAMETERS {
            if let Some(variable) = parameter.variable
                && let Some(value) = environment.variable(variable)?
            {
                self.fill(parameter, value, Place::Variable(variable));
            }
        }
        Ok(())
    }

    /// Refuses what asks for something that cannot be given.
    pub(super) fn refuse_unsupported(&self) -> Result<(), ConninfoError> {
        for (name, setting) in self.made.iter().filter(|(_, setting)| !setting.value.is_empty()) {
            let reason = match parameter::find(name).map(|parameter| &parameter.treatment) {
                Some(Treatment::Refused(reason)) => reason,
                Some(Treatment::Only(values, reason)) if !values.contains(&setting.value.as_str()) => reason,
                Some(Treatment::Only(..) | Treatment::Honoured | Treatment::Idle) | None => continue,
            };
            return Err(ConninfoError::new(setting.place.clone(), Problem::Unsupported { name, reason }));
        }
        Ok(())
    }

    /// The value, if there is one; an empty value is none.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.made.get(name).map(|setting| setting.value.as_str()).filter(|value| !value.is_empty())
    }

    /// Where the parameter was set.
    pub(super) fn place(&self, name: &str) -> Place {
        self.made.get(name).map_or(Place::Default, |setting| setting.place.clone())
    }

    /// The value as a path.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// The value as one of some words.
    pub(super) fn choice<T: Copy>(&self, name: &'static str, words: &[(&str, T)]) -> Result<Option<T>, ConninfoError> {
        let Some(value) = self.text(name) else { return Ok(None) };
        let chosen = words.iter().find(|(word, _)| *word == value);
        chosen.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.wrong(name, words.join(", "))
        })
    }

    /// The value as a whole number, which may have blanks around it as in libpq.
    pub(super) fn number(&self, name: &'static str) -> Result<Option<i32>, ConninfoError> {
        let Some(value) = self.text(name) else { return Ok(None) };
        let number = value.trim().parse();
        number.map(Some).map_err(|_| self.wrong(name, String::from("a whole number")))
    }

    /// The value as a number of units of time, where zero and less mean that nothing is asked for.
    pub(super) fn duration(
        &self,
        name: &'static str,
        unit: fn(u64) -> Duration,
    ) -> Result<Option<Duration>, ConninfoError> {
        let number = self.number(name)?;
        Ok(number.and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0).map(unit))
    }

    /// The items of a comma-separated value; none if nothing is set. An item may be empty.
    pub(super) fn items(&self, name: &str) -> Vec<&str> {
        self.text(name).map(|value| value.split(',').collect()).unwrap_or_default()
    }

    /// Says that the parameter has none of the values it may have.
    pub(super) fn wrong(&self, name: &'static str, expected: String) -> ConninfoError {
        ConninfoError::new(self.place(name), Problem::Value { name, expected })
    }
}
