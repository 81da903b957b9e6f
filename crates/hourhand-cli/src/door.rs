//! Who may enter the dashboard that the command serves. Secrets come from files or the environment: a command line can be read by
//! everybody on the machine.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Router;
use clap::Args;
use hourhand::Operator;
use hourhand_web::Standalone;
use tokio_util::sync::CancellationToken;

use crate::child;
use crate::refusal::Refusal;

const USER: &str = "HOURHAND_DASHBOARD_USER";
const TOKEN: &str = "HOURHAND_DASHBOARD_TOKEN";

/// What decides who may enter.
#[derive(Args, Clone, Default)]
pub(crate) struct Door {
    /// A file with a line NAME:PASSWORD for each who may enter (else HOURHAND_DASHBOARD_USER has one).
    #[arg(long, value_name = "PATH")]
    users_file: Option<PathBuf>,

    /// A file with a line for each token that lets in, as `Authorization: Bearer` (else HOURHAND_DASHBOARD_TOKEN has one).
    #[arg(long, value_name = "PATH")]
    tokens_file: Option<PathBuf>,

    /// Show everything, let nobody act.
    #[arg(long)]
    read_only: bool,

    /// Answer to this host name too, where a proxy or a name of yours leads here.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("read_only", &self.read_only).finish_non_exhaustive()
    }
}

impl Door {
    /// The dashboard behind this door, served on this address until the token is cancelled.
    ///
    /// # Errors
    ///
    /// A file can't be read, or anybody could enter.
    pub(crate) fn dashboard(
        &self,
        bound: SocketAddr,
        operator: Operator,
        gone: CancellationToken,
    ) -> Result<Router, Refusal> {
        let mut door = Standalone::on(bound).read_only(self.read_only);
        for line in lines(self.users_file.as_ref(), USER)? {
            let Some((name, password)) = line.split_once(':') else {
                return Err(Refusal::wrong(format!(
                    "--users-file or {USER}: a line is NAME:PASSWORD, and one has no colon"
                )));
            };
            door = door.user(name, password);
        }
        for token in lines(self.tokens_file.as_ref(), TOKEN)? {
            door = door.token(token);
        }
        door = self.allow_host.iter().fold(door, |door, name| door.host(name));
        let hint = |refused: hourhand_web::Refused| {
            Refusal::wrong(format!("dashboard: {refused} (--users-file, --tokens-file, {USER} or {TOKEN})"))
        };
        // Those of `hourhand dashboard` run elsewhere: there are none to be seen here.
        door = door.live_output(async |job, epoch| child::written(&job, epoch));
        door.router_until(operator, gone.cancelled_owned()).map_err(hint)
    }
}

/// The lines of the file, or the one of the variable.
fn lines(file: Option<&PathBuf>, variable: &str) -> Result<Vec<String>, Refusal> {
    let Some(path) = file else {
        return Ok(std::env::var(variable).into_iter().filter(|value| !value.is_empty()).collect());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Refusal::wrong(format!("could not read {}: {error}", path.display())))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
