//! What every page needs to know of its request: where it is mounted, who asks, what was just done.

use std::convert::Infallible;
use std::fmt::Write as _;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::access::{Access, Visitor};

/// The request's surroundings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ctx {
    /// The path that the router is mounted at: empty, or `/…` without a slash at its end.
    pub(crate) prefix: String,
    pub(crate) visitor: Visitor,
    /// What the redirect that led here has to say.
    pub(crate) said: Option<String>,
}

impl Ctx {
    /// Those of a request that has passed the door.
    pub(crate) fn of(request: &Parts) -> Ctx {
        request.extensions.get().cloned().unwrap_or_default()
    }

    /// The address of a page of ours.
    pub(crate) fn to(&self, path: &str) -> String {
        format!("{}/{path}", self.prefix)
    }

    /// The address of a page of ours, with parameters. Names stand there, not in the path, where `..` would mean something.
    pub(crate) fn with(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let mut address = self.to(path);
        for (at, (name, value)) in parameters.iter().enumerate() {
            let sign = if at == 0 { '?' } else { '&' };
            let _ = write!(address, "{sign}{name}={}", encode(value));
        }
        address
    }

    /// The page of a job.
    pub(crate) fn job(&self, name: &str) -> String {
        self.with("job", &[("job", name)])
    }

    /// The page of a run.
    pub(crate) fn run(&self, job: &str, epoch: &i64) -> String {
        self.with("run", &[("job", job), ("epoch", &epoch.to_string())])
    }

    /// Buttons are for those who may press them.
    pub(crate) fn may_act(&self) -> bool {
        self.visitor.access == Access::Full
    }
}

impl<S: Sync> FromRequestParts<S> for Ctx {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Ctx, Infallible> {
        Ok(Ctx::of(parts))
    }
}

/// Percent-encoded but for what is never special.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// Where the router is mounted: what the path was, before whoever mounts it took its part away.
pub(crate) fn prefix(original: &str, ours: &str) -> String {
    original.strip_suffix(ours).unwrap_or(original).trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_is_what_was_taken_away() {
        assert_eq!(prefix("/", "/"), "");
        assert_eq!(prefix("/job", "/job"), "");
        assert_eq!(prefix("/admin", "/"), "/admin");
        assert_eq!(prefix("/admin/", "/"), "/admin");
        assert_eq!(prefix("/admin/jobs/job", "/job"), "/admin/jobs");
    }

    #[test]
    fn names_in_addresses_are_encoded_whole() {
        let ctx = Ctx { prefix: "/p".to_owned(), ..Ctx::default() };
        assert_eq!(ctx.job("../a b&c=ü"), "/p/job?job=..%2Fa%20b%26c%3D%C3%BC");
        assert_eq!(ctx.run("x", &7), "/p/run?job=x&epoch=7");
    }
}
