//! `cargo xtask sim`: the simulator, built (it is optimised in dev, too) and given whatever it is given.

use crate::arguments::Arguments;
use crate::cargo::cargo;
use crate::foreground;
use anyhow::Result;

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let mut simulator = cargo(&["run", "--package", "hourhand-sim", "--quiet", "--"]);
    foreground::run(simulator.args(arguments.rest()))
}
