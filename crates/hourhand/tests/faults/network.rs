//! A network that can be cut without a word: a namespace with a wire (a veth pair) to this one. The kernel at each end goes on as if
//! the other would answer, which no proxy on one kernel could show.
//!
//! Namespace and wire belong to a process on a leash, so that nothing is left behind, however a test ends.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hourhand_testkit::{Leash, Leashed};
use tempfile::TempDir;

/// The range that RFC 2544 reserves for trying networks.
pub const RANGE: &str = "198.18.0.0/15";

/// The wire's ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Server,
    Client,
}

/// The namespace, and the wire to it.
pub struct Network {
    keeper: Leashed,
    wire: String,
    base: u32,
    _directory: TempDir,
}

impl Network {
    /// Makes them, or says why this machine does not allow it.
    pub fn new() -> Result<Network, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let own = std::process::id() * 8 + NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "sleep", "infinity"]);
        let keeper = Leash::new(directory.path().join("log")).spawn(&unshare).map_err(|error| error.to_string())?;
        let wire = format!("hh{:x}", own & 0xfff_ffff);
        let mut network = Network { keeper, wire, base: (own % 0x7fff) * 4, _directory: directory };
        let laid = network.lay().map_err(|why| format!("it allows no network of our own (which needs root): {why}"));
        laid.map(|()| network)
    }

    fn lay(&mut self) -> Result<(), String> {
        // Until `unshare` has become `sleep`, the namespace of its process is still ours.
        let own = std::fs::read_link("/proc/self/ns/net").map_err(|error| error.to_string())?;
        let theirs = format!("/proc/{}/ns/net", self.keeper.pid());
        while std::fs::read_link(&theirs).is_ok_and(|namespace| namespace == own) {
            if self.keeper.wait(Duration::from_millis(5)).is_ok_and(|ended| ended.is_some()) {
                return Err("unshare --net failed".to_owned());
            }
        }
        let (pid, wire, inside) = (self.keeper.pid().to_string(), self.wire.clone(), self.inside_end());
        run(&["ip", "link", "add", &wire, "type", "veth", "peer", "name", &inside, "netns", &pid])?;
        run(&["ip", "address", "add", &format!("{}/30", self.server_address()), "dev", &wire])?;
        run(&["ip", "link", "set", &wire, "up"])?;
        self.run_inside(&["ip", "address", "add", &format!("{}/30", self.address(2)), "dev", &inside])?;
        self.run_inside(&["ip", "link", "set", "lo", "up"])?;
        self.run_inside(&["ip", "link", "set", &inside, "up"])
    }

    fn inside_end(&self) -> String {
        format!("{}i", self.wire)
    }

    fn address(&self, host: u32) -> String {
        let number = self.base + host;
        format!("198.{}.{}.{}", 18 + (number >> 16), (number >> 8) & 0xff, number & 0xff)
    }

    /// This side's address, by which the other side reaches a server here.
    pub fn server_address(&self) -> String {
        self.address(1)
    }

    /// What runs a command on the other side.
    pub fn prefix(&self) -> Vec<String> {
        vec!["nsenter".to_owned(), format!("--net=/proc/{}/ns/net", self.keeper.pid()), "--".to_owned()]
    }

    fn run_inside(&self, words: &[&str]) -> Result<(), String> {
        let prefix = self.prefix();
        let words: Vec<&str> = prefix.iter().map(String::as_str).chain(words.iter().copied()).collect();
        run(&words)
    }

    /// Pulls the plug at one end: nothing gets through any more, and nobody is told.
    pub fn cut(&self, end: End) {
        match end {
            End::Server => run(&["ip", "link", "set", &self.wire, "down"]).unwrap(),
            End::Client => self.run_inside(&["ip", "link", "set", &self.inside_end(), "down"]).unwrap(),
        }
    }
}

fn run(words: &[&str]) -> Result<(), String> {
    let done = Command::new(words[0]).args(&words[1..]).output().map_err(|error| format!("{}: {error}", words[0]))?;
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    if done.status.success() { Ok(()) } else { Err(format!("`{}` says: {said}", words.join(" "))) }
}
