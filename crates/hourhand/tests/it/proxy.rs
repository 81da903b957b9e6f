//! Between a node and its server: reads along, and treats one statement of the node's life.
//!
//! It understands as much of the protocol as it takes to tell messages and to count: a request is a `Query`, or everything up to a `Sync`,
//! its answer is everything up to the next `ReadyForQuery`. What is sent by its name is known by the text that was given it. The start of a connection is request 0. Messages
//! are never changed, only held back, kept, or cut off together with the connection.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

/// What is done to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It is carried out, its answer comes this much later.
    Slow(Duration),
    /// It is carried out, its answer never comes, and the connection stays as it is.
    Never,
    /// It is carried out, and the connection is closed instead of the answer.
    Dropped,
    /// Its backend is ended before it arrives: it is answered with an error, and not carried out. The start of a connection
    /// has no backend yet, and is refused.
    Failing,
    /// Our tables are locked by somebody until it is answered: what needs one is answered with the error of a time-out of the
    /// server's, what needs none is carried out.
    Locked,
}

/// A statement, by the connection of the node's that carries it and its place there, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub connection: usize,
    pub request: usize,
}

/// A statement by how its text begins (after `-- `), and which of those that do, from 1: where its place depends on time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nth {
    pub text: String,
    pub nth: usize,
}

/// A running proxy. Connections that stand when it is dropped are closed.
pub struct Proxy {
    address: String,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

struct Shared {
    direct: String,
    fault: Option<(Place, Treatment)>,
    /// Counted down to the one that is meant.
    nth: Mutex<Option<(Nth, Treatment)>>,
    met: watch::Sender<bool>,
    /// Answered statements, each by how its text begins.
    answered: Mutex<BTreeMap<Place, String>>,
    refused: Mutex<usize>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Proxy {
    /// To the server of this URL.
    pub async fn to(direct: &str, fault: Option<(Place, Treatment)>) -> Proxy {
        Proxy::with(direct, fault, None).await
    }

    /// The same, treating one by its text.
    pub async fn treating(direct: &str, nth: Nth, treatment: Treatment) -> Proxy {
        Proxy::with(direct, None, Some((nth, treatment))).await
    }

    async fn with(direct: &str, fault: Option<(Place, Treatment)>, nth: Option<(Nth, Treatment)>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (answered, refused) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared {
            direct: direct.to_owned(),
            fault,
            nth: Mutex::new(nth),
            met: watch::channel(false).0,
            answered,
            refused,
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Proxy { address, shared, accepting }
    }

    /// The URL that leads through it.
    pub fn url(&self) -> String {
        let direct = &self.shared.direct;
        let mark = if direct.contains('?') { '&' } else { '?' };
        format!("{}{mark}sslmode=disable", direct.replace(host_of(direct), &self.address))
    }

    /// Waits until the statement in question has come.
    pub fn met(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut met = self.shared.met.subscribe();
        async move { drop(met.wait_for(|met| *met).await) }
    }

    /// The statements that were answered, each by how its text begins.
    pub fn answered(&self) -> BTreeMap<Place, String> {
        self.shared.answered.lock().unwrap().clone()
    }

    /// Whether the statement in question was answered with an error.
    pub fn refused(&self) -> bool {
        *self.shared.refused.lock().unwrap() > 0
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    for connection in 0.. {
        let Ok((client, _)) = listener.accept().await else { return };
        let fault = shared.fault.filter(|(place, _)| place.connection == connection);
        let fault = fault.map(|(place, treatment)| (place.request, treatment));
        let state = Mutex::new(WayState { fault, ..WayState::default() });
        let way = Way { shared: shared.clone(), connection, state };
        connections.spawn(async move { way.forward(client).await });
    }
}

/// One connection's way through.
struct Way {
    shared: Arc<Shared>,
    connection: usize,
    state: Mutex<WayState>,
}

#[derive(Default)]
struct WayState {
    /// What is done to which request of this connection.
    fault: Option<(usize, Treatment)>,
    pid: i32,
    texts: Vec<String>,
    /// Statements by their names.
    named: HashMap<String, String>,
    /// A request is under way, and more of it is to come.
    begun: bool,
    locker: Option<Client>,
}

impl Way {
    async fn forward(&self, client: TcpStream) -> io::Result<()> {
        if self.treats(0, Treatment::Failing) {
            self.shared.met.send_replace(true);
            return Ok(());
        }
        client.set_nodelay(true)?;
        let server = TcpStream::connect(host_of(&self.shared.direct)).await?;
        server.set_nodelay(true)?;
        let (client_reads, client_writes) = client.into_split();
        let (server_reads, server_writes) = server.into_split();
        tokio::select! {
            requests = self.requests(client_reads, server_writes) => requests,
            answers = self.answers(server_reads, client_writes) => answers,
        }
    }

    fn treats(&self, request: usize, treatment: Treatment) -> bool {
        self.state.lock().unwrap().fault == Some((request, treatment))
    }

    /// Ends when the client has closed.
    async fn requests(&self, mut client: OwnedReadHalf, mut server: OwnedWriteHalf) -> io::Result<()> {
        let mut length = [0; 4];
        client.read_exact(&mut length).await?;
        let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
        client.read_exact(&mut startup).await?;
        server.write_all(&[&length[..], &startup].concat()).await?;
        self.state.lock().unwrap().texts.push("connect".to_owned());
        loop {
            let message = message(&mut client).await?;
            if let Some(request) = self.note(&message) {
                if self.treats(request, Treatment::Failing) {
                    self.end_backend().await;
                } else if self.treats(request, Treatment::Locked) {
                    self.lock_tables().await;
                }
            }
            if server.write_all(&message).await.is_err() {
                // What the server said before it closed is still on its way.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Notes how the text of a request begins, and answers which one it is; none: the message goes on with one, or ends it.
    fn note(&self, message: &[u8]) -> Option<usize> {
        // A password, a good-bye: nothing is asked.
        if let b'p' | b'X' = message[0] {
            return None;
        }
        let mut state = self.state.lock().unwrap();
        let goes_on = state.begun;
        state.begun = !matches!(message[0], b'Q' | b'S');
        let mut parts = message[5..].split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let text = match message[0] {
            b'Q' => begin_of(&parts.next()?),
            b'P' => {
                let (name, text) = (parts.next()?.into_owned(), begin_of(&parts.next()?));
                let named = !name.is_empty();
                state.named.insert(name, text.clone());
                if named { format!("prepare {text}") } else { text }
            }
            // After the name of the portal, which has none.
            b'B' => state.named.get(&*parts.nth(1)?).cloned().unwrap_or_default(),
            _ => String::new(),
        };
        if goes_on || message[0] == b'S' {
            return None;
        }
        state.texts.push(text.clone());
        let request = state.texts.len() - 1;
        let mut nth = self.shared.nth.lock().unwrap();
        if let Some((wanted, treatment)) = nth.as_mut().filter(|(wanted, _)| text.starts_with(&wanted.text)) {
            wanted.nth -= 1;
            if wanted.nth == 0 {
                state.fault = Some((request, *treatment));
                *nth = None;
            }
        }
        Some(request)
    }

    /// Ends when the server has closed.
    async fn answers(&self, mut server: OwnedReadHalf, mut client: OwnedWriteHalf) -> io::Result<()> {
        let (mut answer, mut request, mut failed) = (Vec::new(), 0, false);
        loop {
            let Ok(message) = message(&mut server).await else {
                client.write_all(&answer).await?;
                return Ok(());
            };
            answer.extend_from_slice(&message);
            failed |= message[0] == b'E';
            match message[0] {
                b'K' => self.state.lock().unwrap().pid = i32::from_be_bytes(message[5..9].try_into().unwrap()),
                // The client has to reply to one, and may wait for the other outside any answer.
                b'R' | b'A' => client.write_all(&std::mem::take(&mut answer)).await?,
                b'Z' => {
                    if !self.treat(request, failed).await {
                        return Ok(());
                    }
                    client.write_all(&std::mem::take(&mut answer)).await?;
                    self.delivered(request);
                    (request, failed) = (request + 1, false);
                }
                _ => {}
            }
        }
    }

    /// Does what is to be done before a request's answer is delivered; false: the connection is closed instead.
    async fn treat(&self, request: usize, failed: bool) -> bool {
        let fault = self.state.lock().unwrap().fault;
        let Some((_, treatment)) = fault.filter(|(treated, _)| *treated == request) else { return true };
        self.shared.met.send_replace(true);
        match treatment {
            Treatment::Slow(length) => tokio::time::sleep(length).await,
            Treatment::Never => std::future::pending().await,
            Treatment::Dropped => return false,
            Treatment::Failing => {}
            Treatment::Locked => {
                *self.shared.refused.lock().unwrap() += usize::from(failed);
                let locker = self.state.lock().unwrap().locker.take();
                if let Some(locker) = locker {
                    locker.batch_execute("rollback").await.unwrap();
                }
            }
        }
        true
    }

    fn delivered(&self, request: usize) {
        let place = Place { connection: self.connection, request };
        let text = self.state.lock().unwrap().texts.get(request).cloned().unwrap_or_default();
        self.shared.answered.lock().unwrap().insert(place, text);
    }

    async fn end_backend(&self) {
        let pid = self.state.lock().unwrap().pid;
        let end = format!("select pg_terminate_backend({pid}, 5000)");
        // Before the server's word about it can be read: whoever waits for this shall find it done.
        self.shared.met.send_replace(true);
        self.direct().await.batch_execute(&end).await.unwrap();
    }

    async fn lock_tables(&self) {
        let locker = self.direct().await;
        let tables =
            "select string_agg(format('hourhand.%I', tablename), ', ') from pg_tables where schemaname = 'hourhand'";
        let tables: String = locker.query_typed_one(tables, &[]).await.unwrap().get(0);
        // A commit on its way may hold them: it needs none of them, and waiting for it would hold it back for ever.
        let lock = format!("set lock_timeout = 300; begin; lock table {tables} in access exclusive mode");
        if let Err(error) = locker.batch_execute(&lock).await {
            assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE), "{error:?}");
        }
        self.state.lock().unwrap().locker = Some(locker);
    }

    async fn direct(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.shared.direct, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }
}

/// How a text begins, without what every statement's file begins with.
fn begin_of(text: &str) -> String {
    let first = text.trim_start_matches("-- ").split(['\n', ';', ':']).next().unwrap_or_default();
    first.chars().take(50).collect()
}

/// The next message, whole: its type, its length, its body.
async fn message(reads: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut message = vec![0; 5];
    reads.read_exact(&mut message).await?;
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]) as usize;
    message.resize(1 + length, 0);
    reads.read_exact(&mut message[5..]).await?;
    Ok(message)
}

/// `host:port` of a URL.
fn host_of(url: &str) -> &str {
    let after = url.split_once('@').map_or(url, |(_, after)| after);
    after.split_once("://").map_or(after, |(_, after)| after).split('/').next().unwrap()
}
