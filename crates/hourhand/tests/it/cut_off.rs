//! A node that meets something at one of its statements; how such a cell begins, and how it ends.

use std::time::Duration;

use hourhand::{Exclusion, Scheduler, SchedulerBuilder};

use crate::cancel_matrix::{GRACE, LIFE, SESSIONS, node};
use crate::proxy::{Nth, Proxy, Treatment};
use crate::world::{Journal, World};

/// What a node meets, and where.
#[derive(Clone, Debug)]
pub struct Cell {
    pub statement: Nth,
    pub treatment: Treatment,
    /// It is shut down there, and another one, which meets nothing, takes its place.
    pub shut_down: bool,
}

/// A cell under way: its statement has been met.
pub struct CutOff {
    pub cell: Cell,
    pub world: World,
    pub journal: Journal,
    _proxy: Proxy,
    nodes: Vec<Scheduler>,
}

impl CutOff {
    /// Starts a node, made ready by `prepare`, and waits until it has met what the cell says.
    pub async fn at(cell: Cell, world: World, prepare: impl Fn(SchedulerBuilder) -> SchedulerBuilder) -> CutOff {
        let journal = Journal::default();
        let proxy = Proxy::treating(&world.database.url(), cell.statement.clone(), cell.treatment).await;
        let mut builder = prepare(node(&world, "a", Exclusion::Session, &journal, &proxy.url()));
        if cell.shut_down {
            builder = builder.shutdown_on(proxy.met()).shutdown_grace(GRACE);
        }
        let mut nodes = vec![builder.start().await.unwrap()];
        tokio::time::timeout(LIFE, proxy.met()).await.unwrap_or_else(|_| panic!("{cell:?}: was not met"));
        if cell.shut_down {
            let ended = tokio::time::timeout(GRACE + Duration::from_secs(1), nodes[0].shutdown()).await;
            assert!(ended.is_ok(), "{cell:?}: the shutdown takes long");
            assert_eq!(journal.under_way(), 0, "{cell:?}: a body outlives its node");
            // What was under way there ends with its connection, as the kernel would see to it.
            world.until(LIFE, &format!("{SESSIONS} and application_name like '% a'"), 0).await;
            let another = prepare(node(&world, "b", Exclusion::Session, &journal, &world.database.url()));
            nodes.push(another.start().await.unwrap());
        }
        CutOff { cell, world, journal, _proxy: proxy, nodes }
    }

    /// The node that is to put things right.
    pub fn at_it(&self) -> &Scheduler {
        self.nodes.last().unwrap()
    }

    /// Shuts the nodes down; then these count nothing.
    pub async fn leaves_nothing(self, counts: &[&str]) {
        for node in &self.nodes {
            node.shutdown().await;
        }
        for query in counts {
            self.world.until(Duration::from_secs(2), query, 0).await;
        }
        // Dropping its database waits, and other cells live on this very task.
        tokio::task::spawn_blocking(move || drop(self));
    }
}
