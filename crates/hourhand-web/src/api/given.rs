//! What stands behind the `?` of an address of the API, held against what the endpoint takes: everything that is not as it is described
//! is refused, in words that say what would be.
//!
//! An unknown parameter is refused too, not passed over: `/pause?job=x&untill=…` would else pause for good, and say that it did.
//! Each may be given once, for of two values the proxy in front may have judged by the other. All of it is asked before the endpoint,
//! which therefore finds what it takes there, and of the right kind.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, Query, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hourhand_core::instant;
use hourhand_core::near::near;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::endpoint::{Endpoint, Kind, Parameter};
use crate::fail::Fail;

/// What was given, as it is to be understood.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(BTreeMap<&'static str, Value>);

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Number(i64),
    Instant(Timestamp),
    Flag(bool),
}

impl Given {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Instant(_) | Value::Flag(_) => None,
        }
    }

    /// As whatever kind of number it was described to fit.
    pub(crate) fn number<N: TryFrom<i64>>(&self, name: &str) -> Option<N> {
        match self.0.get(name)? {
            Value::Number(number) => N::try_from(*number).ok(),
            Value::Text(_) | Value::Instant(_) | Value::Flag(_) => None,
        }
    }

    pub(crate) fn instant(&self, name: &str) -> Option<Timestamp> {
        match self.0.get(name)? {
            Value::Instant(at) => Some(*at),
            Value::Text(_) | Value::Number(_) | Value::Flag(_) => None,
        }
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Value::Flag(true)))
    }

    /// The job, of an endpoint that requires one.
    pub(crate) fn job(&self) -> &str {
        self.text("job").unwrap_or_default()
    }
}

impl<S: Sync> FromRequestParts<S> for Given {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Given, Self::Rejection> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}

/// Before an endpoint is asked.
pub(super) async fn check(endpoint: &'static Endpoint, mut request: Request, next: Next) -> Response {
    match read(endpoint.parameters, request.uri(), Timestamp::now()) {
        Ok(given) => {
            request.extensions_mut().insert(given);
            next.run(request).await
        }
        Err(why) => Fail::Asked(why).into_response(),
    }
}

fn read(parameters: &'static [Parameter], uri: &Uri, now: Timestamp) -> Result<Given, String> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|error| error.to_string())?.0;
    let mut given = Given::default();
    for (name, text) in pairs {
        let parameter = parameters.iter().find(|parameter| parameter.name == name);
        let parameter = parameter.ok_or_else(|| unknown(&name, parameters))?;
        let value = parameter.kind.read(&text, now).map_err(|why| format!("{name}: {why}"))?;
        if given.0.insert(parameter.name, value).is_some() {
            return Err(format!("{name}: given twice"));
        }
    }
    let missing = parameters.iter().find(|parameter| parameter.is_required && !given.0.contains_key(parameter.name));
    match missing {
        Some(parameter) => Err(format!("{0} is missing: {1}, ?{0}=…", parameter.name, parameter.what)),
        None => Ok(given),
    }
}

fn unknown(name: &str, parameters: &[Parameter]) -> String {
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
    let hint = match near(name, names.iter().copied()).first() {
        _ if names.is_empty() => "this takes none".to_owned(),
        Some(meant) => format!("is {meant:?} meant?"),
        None => format!("this takes {}", names.join(", ")),
    };
    format!("there is no parameter {name:?}: {hint}")
}

impl Kind {
    fn read(self, text: &str, now: Timestamp) -> Result<Value, String> {
        match self {
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::OneOf(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
            Kind::OneOf(words) => Err(format!("{text:?} is none: it is one of {}", words.join(", "))),
            Kind::Number(least, most) => {
                let number = text.parse().ok().filter(|number| (least..=most).contains(number));
                number.map(Value::Number).ok_or_else(|| format!("{text:?} is no whole number from {least} to {most}"))
            }
            Kind::Instant => instant::read(text, &TimeZone::UTC, now).map(Value::Instant),
            Kind::Flag => match text {
                "true" => Ok(Value::Flag(true)),
                "false" => Ok(Value::Flag(false)),
                _ => Err(format!("{text:?} is neither true nor false")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::endpoint::{may, must};
    use super::*;

    const TAKEN: [Parameter; 4] = [
        must("job", Kind::Text, "the job"),
        may("limit", Kind::Number(1, 1000), "how many"),
        may("since", Kind::Instant, "from when on"),
        may("catch_up", Kind::Flag, "whether"),
    ];

    fn given(query: &str) -> Result<Given, String> {
        read(&TAKEN, &format!("/x?{query}").parse().unwrap(), "2026-11-30T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn what_is_as_described_is_understood() {
        let given = given("job=a%20b&limit=7&since=2h%20ago&catch_up=true").unwrap();
        assert_eq!((given.job(), given.number("limit"), given.is_set("catch_up")), ("a b", Some(7_u32), true));
        assert_eq!(given.instant("since").unwrap().to_string(), "2026-11-30T10:00:00Z");
    }

    #[test]
    fn what_is_not_is_refused_with_what_would_be() {
        let refused = [
            ("", "job is missing: the job, ?job=…"),
            ("job=a&jop=b", "there is no parameter \"jop\": is \"job\" meant?"),
            ("job=a&name=b", "there is no parameter \"name\": this takes job, limit, since, catch_up"),
            ("job=a&job=b", "job: given twice"),
            ("job=a&limit=0", "limit: \"0\" is no whole number from 1 to 1000"),
            ("job=a&limit=ten", "limit: \"ten\" is no whole number from 1 to 1000"),
            ("job=a&catch_up=1", "catch_up: \"1\" is neither true nor false"),
        ];
        for (query, why) in refused {
            assert_eq!(given(query).unwrap_err(), why, "{query}");
        }
        assert!(given("job=a&since=tomorrow").unwrap_err().starts_with("since: \"tomorrow\" is not an instant: 20"));
    }
}
