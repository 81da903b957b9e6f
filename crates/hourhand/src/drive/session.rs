//! The line to the server: at most one session, at most one statement under way on it.

use std::pin::Pin;
use std::sync::Arc;

use hourhand_core::protocol::{Answer, Event, Question, Trouble, TroubleKind};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::Notification;
use uuid::Uuid;

use crate::pg::{Catalog, Former, Opened, Session, SessionSettings};

type Asking = Pin<Box<dyn Future<Output = Result<Answer, Trouble>> + Send>>;
type Opening = Pin<Box<dyn Future<Output = Result<Opened, Trouble>> + Send>>;

pub(super) struct Line {
    settings: SessionSettings,
    state: State,
    /// The backend of the last session, for as long as it may still be there.
    former: Option<Former>,
    said_unmet: bool,
    /// No session has been probed yet, or the last one turned out to be shared.
    probe: bool,
}

enum State {
    Closed,
    Opening(Opening),
    Open(Open),
}

struct Open {
    session: Arc<Session>,
    asking: Option<Asking>,
    notifications: mpsc::Receiver<Notification>,
    /// The queue of notices was full: some may be missing.
    overheard: bool,
    driving: JoinHandle<Trouble>,
}

/// Dropping the handle of a task lets it go on; the session's task has to end with the line.
impl Drop for Open {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

impl Line {
    pub(super) fn new(settings: SessionSettings) -> Line {
        Line { settings, state: State::Closed, former: None, said_unmet: false, probe: true }
    }

    pub(super) fn connect(&mut self, end_former: bool) {
        let settings = self.settings.clone();
        let former = self.former.filter(|_| end_former);
        // The mark is new for each session: an old one may still stand on a pooler's connection.
        let mark = Uuid::new_v4().to_string();
        let probe = self.probe;
        self.state = State::Opening(Box::pin(async move { settings.open(mark, probe, former).await }));
    }

    /// The session turned out not to be ours alone: the next one is probed again.
    pub(super) fn suspect(&mut self) {
        self.probe = true;
    }

    /// Lets the session go, with whatever is under way on it.
    pub(super) fn close(&mut self) {
        self.state = State::Closed;
    }

    /// Whether there is a session.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    pub(super) fn ask(&mut self, catalog: Arc<Catalog>, question: Question, outputs: Vec<Option<String>>) {
        if let State::Open(open) = &mut self.state {
            let session = open.session.clone();
            open.asking = Some(Box::pin(async move { session.ask(&catalog, &question, &outputs).await }));
        }
    }

    /// The next thing that happens on the line; for ever pending while there is none. May be dropped at any await: what is under
    /// way stays in its field.
    pub(super) async fn next_event(&mut self) -> Event {
        let event = match &mut self.state {
            State::Closed => std::future::pending().await,
            State::Opening(opening) => Happened::Opened(opening.as_mut().await.map(Box::new)),
            State::Open(open) => open.next().await,
        };
        match event {
            Happened::Opened(Ok(opened)) => self.opened(*opened),
            Happened::Opened(Err(trouble)) => {
                self.state = State::Closed;
                Event::ConnectFailed(trouble)
            }
            Happened::Answered(answer) => match answer {
                Ok(answer) => Event::Answered(answer),
                Err(trouble) => {
                    self.probe |= trouble.kind == TroubleKind::Pooled;
                    Event::Refused(trouble)
                }
            },
            Happened::Notified(notification) => heard(notification.payload()),
            Happened::HintsLost => Event::HintsLost,
            Happened::Ended(trouble) => {
                self.state = State::Closed;
                // Whoever ended it (a server or pooler restarted with other settings) may have put something else between.
                self.probe = true;
                Event::Closed(trouble)
            }
        }
    }

    fn opened(&mut self, opened: Opened) -> Event {
        if !opened.unmet.is_empty() && !self.said_unmet {
            self.said_unmet = true;
            tracing::warn!(settings = opened.unmet.join(", "), "the server did not take all of the session's settings");
        }
        self.probe = false;
        self.former = Some(opened.backend);
        let (server, pid) = (opened.now, opened.backend.pid);
        self.state = State::Open(Open {
            session: Arc::new(opened.session),
            asking: None,
            notifications: opened.notifications,
            overheard: false,
            driving: tokio::spawn(opened.driving),
        });
        Event::Connected { server, pid }
    }
}

enum Happened {
    Opened(Result<Box<Opened>, Trouble>),
    Answered(Result<Answer, Trouble>),
    Notified(Notification),
    HintsLost,
    Ended(Trouble),
}

impl Open {
    async fn next(&mut self) -> Happened {
        let asking = async {
            match &mut self.asking {
                Some(asking) => asking.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = asking => {
                self.asking = None;
                Happened::Answered(answer)
            }
            ended = &mut self.driving => Happened::Ended(ended.unwrap_or_else(|error| {
                crate::pg::lost(format!("the session's task ended: {error}"))
            })),
            () = std::future::ready(()), if self.overheard && self.notifications.is_empty() => {
                self.overheard = false;
                Happened::HintsLost
            }
            Some(notification) = self.notifications.recv() => {
                self.overheard |= self.notifications.capacity() <= 1;
                Happened::Notified(notification)
            }
        }
    }
}

/// `free KEY`, `start KEY`, `cancel KEY`, `look KEY`: hints of other sessions. Anybody may notify; what is not of this form is nothing to us.
fn heard(payload: &str) -> Event {
    let (word, key) = payload.split_once(' ').unwrap_or_default();
    match (word, key.parse()) {
        ("free", Ok(key)) => Event::Freed(key),
        ("start", Ok(key)) => Event::Began(key),
        ("cancel", Ok(key)) => Event::CancelAsked(key),
        ("look", Ok(key)) => Event::Changed(key),
        _ => Event::Woke,
    }
}
