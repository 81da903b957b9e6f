//! What the tests of faults share: a database with one occurrence due, a book, and processes on it.

use std::time::Duration;

use hourhand::{Scheduler, SchedulerBuilder};
use hourhand_testkit::{Database, Leashed, Server};
use tempfile::TempDir;

use crate::book::Book;
use crate::child::{Body, Child};
use crate::world::World;

/// How many sessions have a watch.
pub const WATCHES: &str = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 \
                           and database = (select oid from pg_database where datname = current_database())";

/// A world in which one occurrence is due, with a book.
pub struct Scene {
    pub world: World,
    pub book: Book,
    _directory: TempDir,
}

impl Scene {
    pub async fn new() -> Scene {
        Scene::of(World::new().await).await
    }

    pub async fn of(world: World) -> Scene {
        world.registered_yesterday().await;
        Scene::with(world).await
    }

    /// With nothing due, nor registered.
    pub async fn unregistered() -> Scene {
        Scene::with(World::new().await).await
    }

    async fn with(world: World) -> Scene {
        let directory = tempfile::tempdir().unwrap();
        world
            .eye
            .batch_execute("create table effect (node text, epoch bigint, at timestamptz default clock_timestamp())")
            .await
            .unwrap();
        Scene { world, book: Book::at(&directory.path().join("book")), _directory: directory }
    }

    /// Starts a process with a node on this scene's database.
    pub fn start(&self, node: &str, body: Body) -> Leashed {
        Child { url: &self.world.database.url(), node, body, book: &self.book }.start()
    }

    /// Starts one whose job is due so often.
    pub fn start_every(&self, node: &str, body: Body, every: Duration) -> Leashed {
        Child { url: &self.world.database.url(), node, body, book: &self.book }.start_under(&[], every)
    }

    /// Starts one that keeps its session.
    pub fn start_resident(&self, node: &str, body: Body) -> Leashed {
        Child { url: &self.world.database.url(), node, body, book: &self.book }.start_resident()
    }

    /// Starts a process whose job is continuous.
    pub fn start_continuous(&self, node: &str, body: Body) -> Leashed {
        Child { url: &self.world.database.url(), node, body, book: &self.book }.start_under(&[], Duration::ZERO)
    }

    /// Starts one that takes leases.
    pub fn start_leased(&self, node: &str, body: Body) -> Leashed {
        Child { url: &self.world.database.url(), node, body, book: &self.book }.start_leased()
    }

    /// Starts a process with a job of a group.
    pub fn start_in_a_group(&self, node: &str, job: &str, body: Body) -> Leashed {
        Child { url: &self.world.database.url(), node, body, book: &self.book }.start_in_a_group(job)
    }

    /// Waits until that many sessions have a watch.
    pub async fn watched(&self, within: Duration) {
        self.world.until(within, WATCHES, 1).await;
    }

    /// Whatever was written for an epoch was written before the next one began.
    pub async fn no_late_effect(&self) {
        let late = "select count(*) from effect e join effect later on later.epoch > e.epoch and later.at < e.at";
        assert_eq!(self.world.number(late).await, 0, "a superseded run has written");
    }
}

/// A migrated database on a private server.
pub async fn world_on(server: &Server) -> World {
    let world = World::unmigrated_on(Database::create_on(server.url()).await).await;
    hourhand::migrate(&world.database.url(), "hourhand").await.unwrap();
    world
}

/// A node in this process, with the default ttl.
pub fn node(url: impl Into<String>, name: &str) -> SchedulerBuilder {
    Scheduler::builder(url).node(name).several_in_one_process()
}
