//! The outside order service: one order with each answer, and no answer while it is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use hourhand_testkit::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::sidecar::SOON;

pub struct Outside {
    pub url: String,
    seen: Arc<Seen>,
}

struct Seen {
    is_open: watch::Sender<bool>,
    calls: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
    /// Calls that came while it was closed, and will wait until it opens.
    waiting: AtomicUsize,
}

impl Outside {
    pub async fn open() -> Outside {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/orders", listener.local_addr().unwrap());
        let [calls, now, most, waiting] = <[AtomicUsize; 4]>::default();
        let seen = Arc::new(Seen { is_open: watch::Sender::new(true), calls, now, most, waiting });
        let app = Router::new().fallback(answer).with_state(seen.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Outside { url, seen }
    }

    pub fn close(&self) {
        self.seen.is_open.send_replace(false);
    }

    pub fn reopen(&self) {
        self.seen.is_open.send_replace(true);
    }

    pub fn most_at_once(&self) -> usize {
        self.seen.most.load(Ordering::SeqCst)
    }

    /// Waits until a call waits for its answer.
    pub async fn keeps_somebody_waiting(&self) {
        eventually(SOON, async || match self.seen.waiting.load(Ordering::SeqCst) {
            0 => Err("no call since it was closed".to_owned()),
            _ => Ok(()),
        })
        .await;
    }
}

async fn answer(State(seen): State<Arc<Seen>>) -> String {
    let number = seen.calls.fetch_add(1, Ordering::SeqCst);
    let now = seen.now.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most.fetch_max(now, Ordering::SeqCst);
    let mut gate = seen.is_open.subscribe();
    if !*gate.borrow() {
        seen.waiting.fetch_add(1, Ordering::SeqCst);
        gate.wait_for(|is_open| *is_open).await.unwrap();
        seen.waiting.fetch_sub(1, Ordering::SeqCst);
    }
    seen.now.fetch_sub(1, Ordering::SeqCst);
    format!("[{{\"number\": \"A-{number}\", \"total\": 7}}]")
}

/// What a service answers: status and body.
pub async fn request(method: &str, address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no status in {answer:?}")), answer)
}
