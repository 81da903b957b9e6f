//! `hourhand migrate`: makes or upgrades the schema.

use clap::Args;

use crate::globals::Globals;
use crate::output::{GOOD, Output};
use crate::refusal::Refusal;
use crate::runtime::block_on;

/// Makes or upgrades hourhand's schema. May be run by many at once; one does it.
#[derive(Args, Debug)]
pub(crate) struct Migrate {}

impl Migrate {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let url = globals.database_url()?;
        block_on(async { Ok(hourhand::migrate(&url, &globals.schema).await?) })?;
        output.remark(format_args!("{GOOD}schema {} is up to date{GOOD:#}", globals.schema));
        Ok(())
    }
}
