//! `cargo xtask demo`: four nodes, and who runs what, until Ctrl-C.
//!
//! On a terminal the picture is drawn again and again in its place; elsewhere each new line is written once.

use super::process::State;
use super::stage::{EVERY, START_DELAY, Stage};
use crate::foreground::signal_received;
use anyhow::{Result, bail};
use std::io::{IsTerminal, Write, stdout};
use std::thread::sleep;
use std::time::{Duration, Instant};

const NODES: usize = 4;

/// Lines of what has happened.
const LATELY: i64 = 10;

const REDRAWN_EVERY: Duration = Duration::from_millis(500);

/// How often a signal is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Plays until somebody wants us to end.
pub(super) fn watch(stage: &mut Stage) -> Result<()> {
    stage.start_nodes(NODES)?;
    println!("{}", introduction(stage)?);
    let mut picture = Picture::new(stdout().is_terminal());
    loop {
        let mut lately = stage.book.lately(LATELY)?;
        let scene = if picture.is_drawn { scene(stage)? } else { Vec::new() };
        if !picture.is_drawn {
            lately.extend(under_way(stage)?);
            lately.extend(ended(stage));
        }
        picture.show(&scene, &lately)?;
        let drawn = Instant::now();
        while drawn.elapsed() < REDRAWN_EVERY {
            if signal_received() != 0 {
                eprintln!("ending everything");
                return Ok(());
            }
            sleep(POLL_INTERVAL);
        }
        stage.place.ensure_up()?;
        stage.feed.process.ensure_up()?;
        if stage.up().is_empty() {
            bail!("no node is left");
        }
    }
}

fn introduction(stage: &mut Stage) -> Result<String> {
    let mut text = format!(
        "An order service on {NODES} nodes, on {}.\n\
         Time is compressed: orders are synced every {} s here, instead of every hour, and a process waits {} s\n\
         after its start, instead of 90. Its users read the copy; only the sync calls the slow feed.\n\n\
         order-feed  {}/stats\n",
        stage.place.told(),
        EVERY.as_secs(),
        START_DELAY.as_secs(),
        stage.feed.url
    );
    for node in 0..NODES {
        let page = stage.page(node, "/orders")?;
        text += &format!("{}      {page}  (also /sync, /healthz)\n", stage.nodes[node].name);
    }
    text += &format!("dashboard  {}\n", stage.page(0, "/jobs")?);
    let sync = stage.page(0, "/sync")?;
    let pid = stage.nodes[1].pid();
    text += &format!("\nTry: curl -X POST {sync}\n     kill -9 {pid}\nCtrl-C ends everything.\n");
    Ok(text)
}

/// The line of the whole and one line for each node.
fn scene(stage: &mut Stage) -> Result<Vec<String>> {
    let job = stage.book.job()?;
    let orders = stage.feed.stats()?.orders;
    let mut lines = vec![format!("{} of {orders} orders copied", stage.book.orders()?), String::new()];
    for node in &mut stage.nodes {
        let state = node.state();
        let run = job.as_ref().filter(|job| job.running && job.node.as_ref() == Some(&node.name));
        let doing = match (state, run) {
            (State::Gone | State::Stopped | State::Killed, _) => "has ended".to_owned(),
            (State::Up, Some(run)) => {
                let length =
                    run.started_at.and_then(|started| run.now.duration_since(started).ok()).unwrap_or_default();
                format!("RUNS the sync for {:.1} s", length.as_secs_f32())
            }
            (State::Up, None) => "waits".to_owned(),
        };
        lines.push(format!("{}  pid {:<8} {doing}", node.name, node.pid()));
    }
    lines.push(String::new());
    Ok(lines)
}

/// The run under way, as a line that stays the same as long as it is.
fn under_way(stage: &mut Stage) -> Result<Option<String>> {
    let job = stage.book.job()?.filter(|job| job.running);
    Ok(job.map(|job| format!("{}  {}   begins", job.since.unwrap_or_default(), job.node.unwrap_or_default())))
}

/// The nodes that are gone, a line each.
fn ended(stage: &mut Stage) -> Vec<String> {
    let nodes = stage.nodes.iter_mut();
    nodes
        .filter_map(|node| (node.state() != State::Up).then(|| format!("          {}   has ended", node.name)))
        .collect()
}

/// What is on the screen.
struct Picture {
    /// In its place, on a terminal.
    is_drawn: bool,
    /// Lines to go up before it is drawn again.
    height: usize,
    /// Where nothing can be drawn: the last lines written.
    written: Vec<String>,
}

impl Picture {
    fn new(is_drawn: bool) -> Self {
        Self { is_drawn, height: 0, written: Vec::new() }
    }

    fn show(&mut self, scene: &[String], lately: &[String]) -> Result<()> {
        let mut out = stdout().lock();
        let text = if self.is_drawn { self.drawn(scene, lately) } else { self.news(lately) };
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Up to where it began, each line cleared before it is written, and without wrapping: a long line would make two.
    fn drawn(&mut self, scene: &[String], lately: &[String]) -> String {
        let mut text = "\x1b[?7l".to_owned();
        if self.height > 0 {
            text += &format!("\x1b[{}A", self.height);
        }
        for line in scene.iter().chain(lately) {
            text += &format!("\x1b[2K{line}\n");
        }
        self.height = scene.len() + lately.len();
        text + "\x1b[?7h"
    }

    fn news(&mut self, lately: &[String]) -> String {
        let new = lately.iter().filter(|line| !self.written.contains(line)).map(|line| format!("{line}\n")).collect();
        self.written = lately.to_vec();
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn where_nothing_can_be_drawn_each_line_is_written_once() {
        let mut picture = Picture::new(false);
        assert_eq!(picture.news(&lines("a\nb")), "a\nb\n");
        assert_eq!(picture.news(&lines("b\nc")), "c\n");
        assert_eq!(picture.news(&lines("b\nc")), "");
    }

    #[test]
    fn a_picture_is_drawn_over_the_one_before() {
        let mut picture = Picture::new(true);
        assert!(!picture.drawn(&lines("scene"), &lines("a")).contains("A\x1b"));
        assert!(picture.drawn(&lines("scene"), &lines("a\nb")).starts_with("\x1b[?7l\x1b[2A\x1b[2Kscene\n"));
        assert_eq!(picture.height, 3);
    }
}
