//! `order-feed`: the outside order service, as a process of its own.

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use jiff::Timestamp;
use order_sync::feed::{Books, Options, serve};
use order_sync::signal;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("order-feed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> anyhow::Result<()> {
    let world = options.world(Timestamp::now())?;
    let listener =
        TcpListener::bind(options.listen).await.with_context(|| format!("can't listen on {}", options.listen))?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener, Books::new(world, &options), signal::shutdown()).await?;
    Ok(())
}
