//! What a replica is told, as words of its command line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The exit status of a replica whose scheduler cannot do what it is told; the reason stands on its standard output.
const CANNOT: i32 = 3;

/// What a replica is told: `--url URL --book FILE --jobs N --every SECONDS --body-ms N`.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The database.
    pub url: String,
    /// The file for the lines.
    pub book: PathBuf,
    /// How many jobs: `job-0`, `job-1`, and so on.
    pub jobs: usize,
    /// The seconds between two occurrences, aligned to whole minutes, hours or days where the schedule can say so.
    pub every: u64,
    /// How long a body takes.
    pub body: Duration,
    /// What else was said, by its name without the dashes: `pooler` if there is one in transaction mode; hourhand's own replica is
    /// told more.
    pub more: BTreeMap<String, String>,
}

impl Orders {
    /// Reads the command line. Ends the process with a sentence if it does not hold what it must.
    #[must_use]
    pub fn from_args() -> Self {
        Self::read(std::env::args().skip(1)).unwrap_or_else(|wrong| {
            eprintln!("{wrong}; told are: --url URL --book FILE --jobs N --every SECONDS --body-ms N");
            std::process::exit(2)
        })
    }

    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut said = BTreeMap::new();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").ok_or_else(|| format!("{word:?} is not a name"))?;
            let value = words.next().ok_or_else(|| format!("--{name} wants a value"))?;
            said.insert(name.to_owned(), value);
        }
        let mut take = |name: &str| said.remove(name).ok_or_else(|| format!("--{name} is missing"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text:?} is not a number"));
        Ok(Self {
            url: take("url")?,
            book: take("book")?.into(),
            jobs: usize::try_from(number(take("jobs")?)?).map_err(|error| error.to_string())?,
            every: number(take("every")?)?,
            body: Duration::from_millis(number(take("body-ms")?)?),
            more: said,
        })
    }

    /// The names of the jobs.
    pub fn names(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.jobs).map(|number| format!("job-{number}"))
    }

    /// The schedule as a cron expression of six fields, the first of them seconds.
    #[must_use]
    pub fn cron_with_seconds(&self) -> String {
        match self.every {
            1 => "* * * * * *".to_owned(),
            seconds @ 2..60 => format!("*/{seconds} * * * * *"),
            _ => format!("0 {}", self.cron_of_minutes()),
        }
    }

    /// The schedule as a cron expression of five fields. Ends the process, as [`refuse`] does, if it has seconds in it.
    #[must_use]
    pub fn cron(&self) -> String {
        if self.every < 60 {
            refuse("its schedules know no seconds: a job a minute is the most frequent");
        }
        self.cron_of_minutes()
    }

    fn cron_of_minutes(&self) -> String {
        match self.every / 60 {
            1 => "* * * * *".to_owned(),
            minutes @ 2..60 => format!("*/{minutes} * * * *"),
            60..1440 => "0 * * * *".to_owned(),
            _ => "0 0 * * *".to_owned(),
        }
    }
}

/// Ends the process: the scheduler cannot do what it is told, for this reason.
pub fn refuse(why: &str) -> ! {
    println!("cannot: {why}");
    std::process::exit(CANNOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Orders, String> {
        Orders::read(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn the_words_of_the_contract_are_read_and_others_are_kept() {
        let orders = read("--url u --book b --jobs 2 --every 60 --body-ms 5 --resident yes").unwrap();
        assert_eq!(orders.names().collect::<Vec<_>>(), ["job-0", "job-1"]);
        assert_eq!(orders.cron_with_seconds(), "0 * * * * *");
        assert_eq!(orders.more.get("resident").unwrap(), "yes");
    }

    #[test]
    fn what_is_missing_or_no_number_is_said() {
        assert_eq!(read("--url u --book b --jobs 2 --every 60").unwrap_err(), "--body-ms is missing");
        assert_eq!(read("--url u --book b --jobs two --every 1 --body-ms 1").unwrap_err(), "\"two\" is not a number");
        assert_eq!(read("--url").unwrap_err(), "--url wants a value");
    }

    #[test]
    fn each_length_has_its_expression() {
        let of = |every: u64| {
            read(&format!("--url u --book b --jobs 1 --every {every} --body-ms 0")).unwrap().cron_with_seconds()
        };
        assert_eq!(of(1), "* * * * * *");
        assert_eq!(of(10), "*/10 * * * * *");
        assert_eq!(of(120), "0 */2 * * * *");
        assert_eq!(of(3600), "0 0 * * * *");
        assert_eq!(of(86_400), "0 0 0 * * *");
    }
}
