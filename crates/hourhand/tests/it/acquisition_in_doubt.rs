//! An acquisition that is answered too late may have taken the lock: it is found and let go, and the job runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hourhand::Schedule;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{Journal, World, daily};

/// Forwards to a server; answers to a connection's first lock statement come late, for as many connections as `late` says.
async fn proxy(server: String, late: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(forward(client, server.clone(), late.clone()));
        }
    });
    address
}

async fn forward(client: TcpStream, server: String, late: Arc<AtomicUsize>) {
    let (mut client_reads, mut client_writes) = client.into_split();
    let (mut server_reads, mut server_writes) = TcpStream::connect(server).await.unwrap().into_split();
    let hold = Arc::new(AtomicUsize::new(0));
    let held = hold.clone();
    let answers = tokio::spawn(async move {
        let mut bytes = [0; 65_536];
        while let Ok(1..) = server_reads.peek(&mut bytes[..1]).await {
            let read = server_reads.read(&mut bytes).await.unwrap();
            let wait = held.swap(0, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(wait as u64)).await;
            if client_writes.write_all(&bytes[..read]).await.is_err() {
                return;
            }
        }
    });
    let mut bytes = [0; 65_536];
    while let Ok(read @ 1..) = client_reads.read(&mut bytes).await {
        let tries = bytes[..read].windows(20).any(|window| window == b"pg_try_advisory_lock");
        if tries && late.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            hold.store(3, Ordering::SeqCst);
        }
        server_writes.write_all(&bytes[..read]).await.unwrap();
    }
    drop(server_writes);
    let _ = answers.await;
}

async fn late_by_three_seconds(acquisitions: usize, schedule: Schedule) {
    let world = World::new().await;
    world.registered_yesterday().await;
    let direct = world.database.url();
    let server = direct.split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
    let late = Arc::new(AtomicUsize::new(acquisitions));
    let url = direct.replace(&server, &proxy(server.clone(), late.clone()).await);
    let journal = Journal::default();
    let node = hourhand::Scheduler::builder(url).node("a").ttl(Duration::from_secs(5)).several_in_one_process();
    let node = node.job(journal.endless_job("a", schedule)).start().await.unwrap();
    let run = journal.run(1, Duration::from_secs(15)).await.run;
    assert_eq!(late.load(Ordering::SeqCst), 0, "no answer was late");
    let locks = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 1 \
                 and database = (select oid from pg_database where datname = current_database())";
    let by_others = format!("{locks} and pid <> (select pid from hourhand.job)");
    world.until(Duration::from_secs(5), &by_others, 0).await;
    world.until(Duration::from_secs(1), locks, 1).await;
    assert!(!run.is_cancelled());
    node.shutdown().await;
    world.until(Duration::from_secs(5), locks, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_granted_after_we_gave_up_is_let_go_and_the_job_runs() {
    late_by_three_seconds(1, daily()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_three_times_in_a_row() {
    late_by_three_seconds(3, daily()).await;
}
