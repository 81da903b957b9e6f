//! `order-sync`: see [`order_sync`].

use std::process::ExitCode;

use clap::Parser;
use order_sync::once::{Once, once};
use order_sync::options::{Command, Options};
use order_sync::serve::serve;
use order_sync::{store, telemetry};

/// "Try again later", in the words of sysexits.h.
const TEMPORARY: u8 = 75;

fn main() -> ExitCode {
    let options = Options::parse();
    let _telemetry = telemetry::start();
    match run(options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("order-sync: {}", telemetry::told(&error));
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(options: Options) -> anyhow::Result<ExitCode> {
    match options.command {
        Command::Serve(options) => serve(options).await?,
        Command::Sync(options) => match once(options).await? {
            Once::Done => {}
            Once::Failed => return Ok(ExitCode::FAILURE),
            Once::AlreadyRunning(holder) => {
                eprintln!("order-sync: {holder}");
                return Ok(ExitCode::from(TEMPORARY));
            }
        },
        Command::Migrate(options) => {
            store::migrate(&options.database_url).await?;
            hourhand::migrate(&options.database_url, "hourhand").await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
