//! The service beside which the sidecar runs: notes each call, and answers as the test has told it to.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use hourhand_testkit::eventually;
use tokio::net::TcpListener;

use super::SOON;

/// A call that came in.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: String,
}

impl Call {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {self:?}")).to_str().unwrap()
    }
}

/// How it answers.
#[derive(Clone, Debug)]
pub enum Answer {
    Status(u16, String),
    RetryAfter(u16, String),
    /// Not at all.
    Never,
    /// 500 to the first call of this path, 200 to everything else.
    FailsOnce(&'static str),
}

#[derive(Clone)]
pub struct Service {
    pub url: String,
    seen: Arc<Seen>,
}

struct Seen {
    answer: Answer,
    calls: Mutex<Vec<Call>>,
    broken_off: Mutex<usize>,
}

/// Counts a call whose caller has gone before it was answered.
struct Waiting(Arc<Seen>);

impl Drop for Waiting {
    fn drop(&mut self) {
        *self.0.broken_off.lock().unwrap() += 1;
    }
}

impl Service {
    pub async fn that(answer: Answer) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Seen { answer, calls: Mutex::default(), broken_off: Mutex::default() });
        let app = Router::new().fallback(take).with_state(seen.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Service { url, seen }
    }

    pub fn calls(&self) -> Vec<Call> {
        self.seen.calls.lock().unwrap().clone()
    }

    pub fn broken_off(&self) -> usize {
        *self.seen.broken_off.lock().unwrap()
    }

    /// Waits for the first call of a path.
    pub async fn call_of(&self, path: &str) -> Call {
        eventually(SOON, async || {
            let calls = self.calls();
            let paths: Vec<&str> = calls.iter().map(|call| call.uri.path()).collect();
            let found = calls.iter().find(|call| call.uri.path() == path);
            found.cloned().ok_or_else(|| format!("no call of {path} among {paths:?}"))
        })
        .await
    }

    /// Waits for the n-th call, from 1.
    pub async fn call(&self, n: usize) -> Call {
        eventually(SOON, async || {
            let calls = self.calls();
            calls.get(n - 1).cloned().ok_or_else(|| format!("{} calls", calls.len()))
        })
        .await
    }
}

async fn take(
    State(seen): State<Arc<Seen>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let body = String::from_utf8(body.to_vec()).unwrap();
    let path = uri.path().to_owned();
    let is_first = {
        let mut calls = seen.calls.lock().unwrap();
        calls.push(Call { method, uri, headers, body });
        calls.iter().filter(|call| call.uri.path() == path).count() == 1
    };
    let answer = match &seen.answer {
        Answer::Status(status, body) => Response::builder().status(*status).body(body.clone().into()),
        Answer::RetryAfter(status, wait) => {
            Response::builder().status(*status).header("retry-after", wait).body("busy\n".into())
        }
        Answer::FailsOnce(failing) => {
            let status = if is_first && path == *failing { 500 } else { 200 };
            Response::builder().status(status).body(Body::empty())
        }
        Answer::Never => {
            let _waiting = Waiting(seen.clone());
            std::future::pending().await
        }
    };
    answer.unwrap()
}
