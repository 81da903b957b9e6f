//! Our own standard output and error, for what commands write: a thread each, which alone writes, whole pieces at a time.
//!
//! Whoever reads our output may be slow. Then the thread waits, its queue fills, the copies wait, the pipes fill, and the commands wait:
//! nothing is lost, nothing piles up, and neither runtime nor session wait with them.

use std::io::{IsTerminal as _, Write};
use std::sync::OnceLock;

use tokio::sync::{mpsc, oneshot};

/// Pieces on their way to whoever reads our output.
const PIECES_MAX: usize = 64;

/// Where a piece goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

enum Piece {
    Bytes(Vec<u8>),
    /// Tell when everything before has been written.
    Flush(oneshot::Sender<()>),
}

/// Nobody reads it any more.
#[derive(Debug)]
pub(crate) struct Gone;

impl Sink {
    /// Writes a piece, after those before it.
    ///
    /// # Errors
    ///
    /// Nobody reads it any more.
    pub(crate) async fn write(self, bytes: Vec<u8>) -> Result<(), Gone> {
        self.queue().send(Piece::Bytes(bytes)).await.map_err(|_| Gone)
    }

    /// Whether a person looks at it: then what steers a terminal is shown as what it is.
    pub(crate) fn is_terminal(self) -> bool {
        static OUTPUT: OnceLock<bool> = OnceLock::new();
        static ERROR: OnceLock<bool> = OnceLock::new();
        match self {
            Sink::Output => *OUTPUT.get_or_init(|| std::io::stdout().is_terminal()),
            Sink::Error => *ERROR.get_or_init(|| std::io::stderr().is_terminal()),
        }
    }

    fn queue(self) -> &'static mpsc::Sender<Piece> {
        static OUTPUT: OnceLock<mpsc::Sender<Piece>> = OnceLock::new();
        static ERROR: OnceLock<mpsc::Sender<Piece>> = OnceLock::new();
        match self {
            Sink::Output => OUTPUT.get_or_init(|| writer(std::io::stdout())),
            Sink::Error => ERROR.get_or_init(|| writer(std::io::stderr())),
        }
    }
}

/// Waits until everything that commands have written has been passed on.
pub(crate) async fn flush() {
    for sink in [Sink::Output, Sink::Error] {
        let (done, written) = oneshot::channel();
        if sink.queue().send(Piece::Flush(done)).await.is_ok() {
            // An error means the same: there is nothing left to wait for.
            let _ = written.await;
        }
    }
}

/// Starts the thread. It ends, and with it the queue, when nobody reads any more.
fn writer(mut out: impl Write + Send + 'static) -> mpsc::Sender<Piece> {
    let (queue, mut pieces) = mpsc::channel(PIECES_MAX);
    let work = move || {
        while let Some(piece) = pieces.blocking_recv() {
            match piece {
                Piece::Bytes(bytes) if out.write_all(&bytes).and_then(|()| out.flush()).is_err() => return,
                Piece::Bytes(_) => {}
                Piece::Flush(done) => drop(done.send(())),
            }
        }
    };
    // Without a thread the queue is closed: nobody reads.
    let _ = std::thread::Builder::new().name("output".to_owned()).spawn(work);
    queue
}
