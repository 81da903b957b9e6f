//! A command's output: passed through as it comes, and the end of it kept.
//!
//! The end, because that is where a program says why it fails, and a bounded one, because a program may write for hours. What a
//! person watches and what history keeps are copies of the same bytes. The copying ends with the streams, not with the command:
//! what it wrote last may still be in the pipe when it has ended, and a descendant that was left running may keep the pipe open for
//! ever, so after the end it is waited for, and not for long.

use std::collections::{BTreeMap, VecDeque};
use std::io::{PipeReader, Result};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hourhand::Run;
use rustix::fs::{FileType, fstat};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinSet;

use super::sink::Sink;
use super::supervise::Outside;
use hourhand_core::plain::block;

/// A line that is longer is passed on in pieces of this size.
const LINE_BYTES_MAX: usize = 16 * 1024;
/// Of the last line, in the message of a failure.
const LAST_LINE_CHARS_MAX: usize = 300;
/// Enough for that.
const COMPLAINT_BYTES_MAX: usize = 4 * 1024;

/// The end of a run's output. Goes to the run when it is dropped: also if the body is aborted.
#[derive(Clone)]
pub(crate) struct Kept(Arc<Inner>);

struct Inner {
    tail: Shared,
    /// The end of standard error alone.
    complaint: Mutex<Tail>,
    run: Run,
}

/// Shared with whoever looks, who must not keep the rest alive: the run has its output before its body is over.
type Shared = Arc<Mutex<Tail>>;

/// Those of runs under way in this process, by job and epoch.
static UNDER_WAY: Mutex<BTreeMap<(String, i64), Shared>> = Mutex::new(BTreeMap::new());

fn under_way() -> MutexGuard<'static, BTreeMap<(String, i64), Shared>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of what a run's command has written so far; none: it is not under way in this process.
pub(crate) fn written(job: &str, epoch: i64) -> Option<String> {
    let tail = under_way().get(&(job.to_owned(), epoch))?.clone();
    let text = tail.lock().unwrap_or_else(PoisonError::into_inner).text();
    Some(text)
}

/// The end of a run's output, for one of the command's streams.
struct OfStream {
    kept: Kept,
    is_error: bool,
}

impl OfStream {
    fn add(&mut self, bytes: &[u8]) {
        self.kept.0.tail.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
        if self.is_error {
            self.kept.0.complaint.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        under_way().remove(&(self.run.job().to_owned(), self.run.epoch()));
        let text = self.tail.lock().unwrap_or_else(PoisonError::into_inner).text();
        if !text.is_empty() {
            self.run.output(text);
        }
    }
}

impl Kept {
    /// Keeps the last so many bytes for a run.
    pub(crate) fn new(bytes_max: usize, run: Run) -> Kept {
        let tail = |bytes_max| Mutex::new(Tail { bytes: VecDeque::new(), bytes_max, dropped: 0 });
        let place = (run.job().to_owned(), run.epoch());
        let kept = Arc::new(tail(bytes_max));
        under_way().insert(place, kept.clone());
        Kept(Arc::new(Inner { tail: kept, complaint: tail(COMPLAINT_BYTES_MAX), run }))
    }

    fn stream(&self, stream: Sink) -> OfStream {
        OfStream { kept: self.clone(), is_error: stream == Sink::Error }
    }

    /// What it said last, in words that follow upon how it ended: the last line of standard error says why, that of standard output
    /// may be anything.
    pub(crate) fn last_words(&self) -> Option<String> {
        let last = |tail: &Mutex<Tail>| {
            let text = tail.lock().unwrap_or_else(PoisonError::into_inner).text();
            let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
            Some(line.chars().take(LAST_LINE_CHARS_MAX).collect::<String>())
        };
        match last(&self.0.complaint) {
            Some(line) => Some(format!(": {line}")),
            None => last(&self.0.tail).map(|line| format!("; its output ends with: {line}")),
        }
    }
}

struct Tail {
    bytes: VecDeque<u8>,
    bytes_max: usize,
    dropped: u64,
}

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(self.bytes_max);
        self.bytes.drain(..over);
        self.dropped += over as u64;
    }

    /// As text: what is not UTF-8 is replaced, what was dropped is counted.
    fn text(&mut self) -> String {
        let bytes = self.bytes.make_contiguous();
        // A character that was cut in two is none.
        let whole = bytes.iter().take(3).take_while(|byte| self.dropped > 0 && **byte & 0xc0 == 0x80).count();
        let text = String::from_utf8_lossy(&bytes[whole..]);
        let text = text.trim_end_matches('\n');
        match self.dropped {
            0 => text.to_owned(),
            dropped => format!("… {dropped} bytes before\n{text}"),
        }
    }
}

/// Copies under way.
pub(crate) struct Copies(JoinSet<()>);

impl Copies {
    /// Waits for the ends of the streams, but not for ever: what escaped may keep a pipe open.
    pub(crate) async fn finish(mut self, within: Duration) {
        // What is left of a pipe that somebody keeps is nobody's output any more.
        let _ = tokio::time::timeout(within, async { while self.0.join_next().await.is_some() {} }).await;
    }
}

/// For a sidecar: nothing to read, and each line marked, with its job above all. A hook's output is nobody's to keep.
///
/// # Errors
///
/// The system has no more descriptors.
pub(super) fn marked(mark: &str, sinks: [Sink; 2], kept: Option<&Kept>) -> Result<(Outside, Copies)> {
    let mut copies = JoinSet::new();
    let mut open = |sink, stream| -> Result<OwnedFd> {
        let (reading, writing) = std::io::pipe()?;
        let kept = kept.map(|kept| kept.stream(stream));
        copies.spawn(copy_lines(receiver(reading)?, sink, Lines::new(format!("[{mark}] ")), kept));
        Ok(writing.into())
    };
    let [output, error] = sinks;
    let streams = [std::fs::File::open("/dev/null")?.into(), open(output, Sink::Output)?, open(error, Sink::Error)?];
    Ok((Outside { streams, terminal: None, notifies: false }, Copies(copies)))
}

/// For one command on its own: what it writes passes through as it is. What goes to a terminal or a file is its own affair; what goes
/// to a pipe or a socket passes by here, and its end is kept, if the run is on record. Where both go to the same, they stay in the order of their writing.
///
/// # Errors
///
/// The system has no more descriptors.
pub(crate) fn passed_through(terminal: Option<i32>, kept: Option<&Kept>) -> Result<(Outside, Copies)> {
    let own = [std::io::stdin().as_fd().try_clone_to_owned()?, std::io::stdout().as_fd().try_clone_to_owned()?];
    let ([input, output], error) = (own, std::io::stderr().as_fd().try_clone_to_owned()?);
    let mut copies = JoinSet::new();
    let mut pass = |own: OwnedFd, sink: Sink| -> Result<OwnedFd> {
        let Some(kept) = kept.filter(|_| is_passed_on(&own)) else { return Ok(own) };
        let (reading, writing) = std::io::pipe()?;
        copies.spawn(copy(receiver(reading)?, sink, kept.stream(sink)));
        Ok(writing.into())
    };
    let same = are_same(&output, &error);
    let output = pass(output, Sink::Output)?;
    let error = if same { output.try_clone()? } else { pass(error, Sink::Error)? };
    Ok((Outside { streams: [input, output, error], terminal, notifies: true }, Copies(copies)))
}

fn is_passed_on(descriptor: &OwnedFd) -> bool {
    let kind = fstat(descriptor).map(|status| FileType::from_raw_mode(status.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket))
}

fn are_same(one: &OwnedFd, other: &OwnedFd) -> bool {
    let of = |descriptor| fstat(descriptor).map(|status| (status.st_dev, status.st_ino)).ok();
    of(one).is_some() && of(one) == of(other)
}

async fn copy(mut reading: Receiver, sink: Sink, mut kept: OfStream) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = reading.read(&mut piece).await {
        kept.add(&piece[..length]);
        if sink.write(piece[..length].to_vec()).await.is_err() {
            // Nobody reads it: the command is to learn of it as it would without us, by SIGPIPE.
            return;
        }
    }
}

fn receiver(reading: PipeReader) -> Result<Receiver> {
    Receiver::from_owned_fd(reading.into())
}

async fn copy_lines(mut reading: Receiver, sink: Sink, mut lines: Lines, mut kept: Option<OfStream>) {
    let mut keep = |line: &[u8]| {
        if let Some(kept) = &mut kept {
            kept.add(line);
        }
    };
    let shown = |line: Vec<u8>| if sink.is_terminal() { for_terminal(&line) } else { line };
    let mut piece = vec![0; 8 * 1024];
    // If it can't be read any more, that is its end.
    while let Ok(length @ 1..) = reading.read(&mut piece).await {
        for line in lines.take(&piece[..length]) {
            keep(&line[lines.mark.len()..]);
            // A sidecar whose own output is cut off goes on: history keeps it.
            let _ = sink.write(shown(line)).await;
        }
    }
    if let Some(line) = lines.rest() {
        keep(&line[lines.mark.len()..]);
        let _ = sink.write(shown(line)).await;
    }
}

/// A marked line as a terminal may have it: several jobs share that, and none of them owns it.
fn for_terminal(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(line);
    let text = text.strip_suffix("\r\n").map_or_else(|| text.clone(), |text| format!("{text}\n").into());
    block(&text).into_owned().into_bytes()
}

/// Cuts a stream into lines and marks them.
struct Lines {
    mark: Vec<u8>,
    unfinished: Vec<u8>,
}

impl Lines {
    fn new(mark: String) -> Lines {
        Lines { mark: mark.into_bytes(), unfinished: Vec::new() }
    }

    /// The lines that are complete now, marked, and pieces of those that are too long.
    fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(part);
            while self.unfinished.len() > LINE_BYTES_MAX {
                let at = cut(&self.unfinished);
                let piece: Vec<u8> = self.unfinished.drain(..at).collect();
                lines.push(self.marked(&piece));
            }
            if self.unfinished.ends_with(b"\n") {
                let line = std::mem::take(&mut self.unfinished);
                lines.push(self.marked(&line));
            }
        }
        lines
    }

    /// What came after the last line's end.
    fn rest(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.unfinished);
        (!rest.is_empty()).then(|| self.marked(&rest))
    }

    fn marked(&self, line: &[u8]) -> Vec<u8> {
        let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
        [&self.mark, line, end].concat()
    }
}

/// Where a line that is too long is cut: not within a character.
fn cut(line: &[u8]) -> usize {
    let within = |at: &usize| line[*at] & 0xc0 == 0x80;
    (LINE_BYTES_MAX - 3..=LINE_BYTES_MAX).rev().find(|at| !within(at)).unwrap_or(LINE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: Vec<Vec<u8>>) -> Vec<String> {
        lines.into_iter().map(|line| String::from_utf8_lossy(&line).into_owned()).collect()
    }

    #[test]
    fn each_line_is_marked_once_it_is_complete_and_the_last_one_at_the_end() {
        let mut lines = Lines::new("[a] ".to_owned());
        assert_eq!(texts(lines.take(b"one\ntw")), ["[a] one\n"]);
        assert_eq!(texts(lines.take(b"o\n\nthree")), ["[a] two\n", "[a] \n"]);
        assert_eq!(lines.rest().map(|rest| texts(vec![rest])), Some(vec!["[a] three\n".to_owned()]));
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn a_line_without_an_end_is_passed_on_in_pieces_that_cut_no_character() {
        let mut lines = Lines::new(String::new());
        let long = "é".repeat(LINE_BYTES_MAX);
        let pieces = texts(lines.take(format!("x{long}\n").as_bytes()));
        assert_eq!(pieces.concat().replace('\n', ""), format!("x{long}"));
        assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.len() <= LINE_BYTES_MAX + 1));
    }

    #[test]
    fn a_terminal_is_shown_what_would_steer_it() {
        let shown = |line: &[u8]| String::from_utf8(for_terminal(line)).unwrap();
        assert_eq!(shown(b"[a] \x1b[2Jgone\x07\n"), "[a] \\x{1b}[2Jgone\\x{07}\n");
        assert_eq!(shown("[a] \u{202e}txt.exe\r\n".as_bytes()), "[a] \\x{202e}txt.exe\n");
        assert_eq!(shown("[a] 50 %\rdone\t정산 \n".as_bytes()), "[a] 50 %\\rdone\t정산 \n");
        assert_eq!(shown(b"[a] \xff\n"), "[a] \u{fffd}\n");
    }

    #[test]
    fn the_tail_keeps_the_end_and_counts_what_it_dropped() {
        let mut tail = Tail { bytes: VecDeque::new(), bytes_max: 5, dropped: 0 };
        tail.add(b"ab\n");
        assert_eq!(tail.text(), "ab");
        tail.add("éxyz\n".as_bytes());
        assert_eq!(tail.text(), "… 4 bytes before\nxyz");
        tail.add(b"\xff\xfe");
        assert!(tail.text().ends_with("z\n\u{fffd}\u{fffd}"));
    }
}
