//! A process: the node, its line to the server, and what stands in for the loop that drives them.
//!
//! Its clocks are its own. The monotonic one is true; the wall clock is off by up to ten seconds, and a fault may move it by an hour:
//! nodes are to decide by the server's, as far as they can tell it from answers. Frozen, it does nothing and learns nothing, while
//! its kernel keeps the connection and what arrives waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hourhand_core::job::Definition;
use hourhand_core::node::{Exclusion, Node, Settings};
use hourhand_core::protocol::{Answer, Question};
use hourhand_core::time::{Mono, Now};
use jiff::SignedDuration;

use crate::random::Random;
use crate::time::At;

/// One process with a scheduler, from its start to its end.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: Arc<str>,
    /// The machine that it runs on: its successor runs there too.
    pub(crate) machine: usize,
    pub(crate) settings: Settings,
    pub(crate) node: Node,
    /// The jobs that it knows, in the order of its slots.
    pub(crate) jobs: Arc<[usize]>,
    /// The version of the program that it runs.
    pub(crate) version: usize,
    pub(crate) born: At,
    pub(crate) life: Living,
    pub(crate) frozen_until: Option<At>,
    /// The last time it was frozen.
    pub(crate) thawed_at: Option<At>,
    pub(crate) wall_off: SignedDuration,
    pub(crate) line: Line,
    /// The backend of its last session.
    pub(crate) former: Option<i32>,
    pub(crate) asking: Option<(u64, Question)>,
    pub(crate) asks: u64,
    pub(crate) wakes: u64,
    /// Nothing arrives before what was sent earlier.
    pub(crate) to_server: At,
    pub(crate) to_client: At,
    pub(crate) tickets: BTreeMap<u64, (At, usize)>,
    /// Ends that it said it could not record.
    /// What its own conditions answered last, by job.
    pub(crate) permits: BTreeMap<usize, bool>,
    pub(crate) unrecorded: BTreeSet<(usize, i64)>,
    /// For [`crate::bug::Bug::PingCountedFromAnswer`].
    pub(crate) last_proof: Option<Answer>,
    /// When it sent its last statements (newest last), and when it last had one of its own to send.
    pub(crate) sent: Vec<At>,
}

/// How far a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Living {
    Running,
    ShuttingDown,
    Gone,
}

/// The line to the server, as the process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Closed,
    Opening(u64),
    Open(i32),
}

impl Process {
    pub(crate) fn new(
        machine: usize,
        generation: usize,
        settings: Settings,
        definitions: Vec<Definition>,
        at: At,
    ) -> Process {
        let now = Now { mono: Mono(at.since_began()), wall: at.shown_by(SignedDuration::ZERO) };
        Process {
            name: format!("hourhand/{} node-{machine}.{generation}", settings.ttl.as_secs()).into(),
            machine,
            node: Node::new(settings.clone(), definitions, now),
            settings,
            jobs: Arc::from([]),
            version: 0,
            born: at,
            life: Living::Running,
            frozen_until: None,
            thawed_at: None,
            wall_off: SignedDuration::ZERO,
            line: Line::Closed,
            former: None,
            asking: None,
            asks: 0,
            wakes: 0,
            to_server: at,
            to_client: at,
            tickets: BTreeMap::new(),
            permits: BTreeMap::new(),
            unrecorded: BTreeSet::new(),
            last_proof: None,
            sent: Vec::new(),
        }
    }

    /// What its clocks show.
    pub(crate) fn now(&self, at: At) -> Now {
        Now { mono: Mono(at.since_began()), wall: at.shown_by(self.wall_off) }
    }

    /// It takes leases, signed with its number, instead of locks.
    pub(crate) fn leases(&self) -> bool {
        self.settings.exclusion == Exclusion::Lease
    }

    pub(crate) fn alive(&self) -> bool {
        self.life != Living::Gone
    }

    /// The settings of a process of a fleet: the library's defaults.
    pub(crate) fn settings_of_a_fleet(ttl: Duration, random: &mut Random) -> Settings {
        Settings {
            ttl,
            start_delay: Duration::ZERO,
            linger: Duration::from_secs(60),
            resident: false,
            migrate: false,
            shutdown_grace: Duration::from_secs(20),
            runs_max: usize::MAX,
            seed: random.next(),
            exclusion: Exclusion::Session,
            prune_interval: Duration::from_secs(3600),
            rowless: false,
        }
    }

    /// The settings of a process.
    pub(crate) fn settings(ttl: Duration, leases: bool, random: &mut Random) -> Settings {
        Settings {
            ttl,
            start_delay: if random.chance(300) { random.millis(0, 10_000) } else { Duration::ZERO },
            linger: Duration::from_secs(*random.pick(&[0, 10, 60])),
            resident: random.chance(150),
            migrate: random.chance(500),
            shutdown_grace: Duration::from_secs(*random.pick(&[2, 10, 20])),
            runs_max: *random.pick(&[1, 2, usize::MAX]),
            seed: random.next(),
            exclusion: if leases { Exclusion::Lease } else { Exclusion::Session },
            prune_interval: Duration::from_secs(3600),
            rowless: false,
        }
    }
}
