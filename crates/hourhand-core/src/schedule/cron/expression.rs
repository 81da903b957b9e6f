//! A whole cron expression: five or six fields, or a nickname for them.
//!
//! Which of the two it is, is decided by counting, never by guessing: five fields begin with the minute, six with the
//! second, and the note of [`super::lint`] says aloud what the first one is taken for. Seven would be Quartz with a
//! year. A line of a crontab with its command, a zone in front (`CRON_TZ=`), or a single word gets an answer of its
//! own.
//!
//! The canonical text is what is stored and compared between the nodes of a fleet: capitals and single spaces, numbers
//! as they were written. Two texts may mean the same and still be different schedules; nodes of one release never
//! differ.

use super::field::{Field, Set};
use super::item::{self, Word};
use crate::schedule::error::{Fault, Meant};

/// The nicknames of crontab(5) and what each stands for.
pub(crate) const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// What stands in a crontab's line, in its order.
const ORDER: &str = "minute hour day-of-month month day-of-week";

/// A cron expression that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expression {
    /// The canonical text: capitals, single spaces, nicknames as they are.
    pub(crate) text: String,
    /// Whether the seconds were written.
    pub(crate) six_fields: bool,
    /// What the fields say, in the order of [`Field::ALL`].
    sets: [Set; 6],
}

impl Expression {
    /// Reads an expression. Places in a fault are bytes of `text`.
    pub(crate) fn read(text: &str) -> Result<Expression, Fault> {
        let words = words(text);
        if let Some(fault) = words.first().and_then(|word| variable(*word)) {
            return Err(fault);
        }
        match words.as_slice() {
            [word] if word.text.starts_with('@') => return nickname(*word),
            [word, rest, ..] if NICKNAMES.iter().any(|(nickname, _)| word.text.eq_ignore_ascii_case(nickname)) => {
                return Err(Fault::new(rest.at..text.trim_end().len(), "a nickname stands alone").instead(""));
            }
            _ => {}
        }
        let fields = match words.len() {
            5 => &Field::ALL[1..],
            6 => &Field::ALL[..],
            _ => return Err(wrong_count(&words)),
        };
        let read = words.iter().zip(fields).map(|(word, field)| item::read(*field, *word));
        let (sets, faults): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
        if let Some(fault) = together(faults.into_iter().filter_map(Result::err), &words) {
            return Err(fault);
        }
        let sets: Vec<Set> = sets.into_iter().filter_map(Result::ok).collect();
        let text = sets.iter().map(|set| set.text.as_str()).collect::<Vec<_>>().join(" ");
        let seconds = (sets.len() == 5).then(|| Set::one(Field::Second, 0));
        match <[Set; 6]>::try_from(seconds.into_iter().chain(sets).collect::<Vec<_>>()) {
            Ok(sets) => Ok(Expression { text, six_fields: fields.len() == 6, sets }),
            Err(_) => Err(wrong_count(&words)),
        }
    }

    /// What a field says.
    pub(crate) fn set(&self, field: Field) -> &Set {
        &self.sets[field as usize]
    }

    /// What the fields say, in the order of [`Field::ALL`].
    pub(crate) fn sets(&self) -> &[Set; 6] {
        &self.sets
    }

    /// crond's question: a job whose minute or hour begins with `*` follows real time, any other the clock on the wall.
    pub(crate) fn follows_real_time(&self) -> bool {
        self.set(Field::Minute).is_starred() || self.set(Field::Hour).is_starred()
    }

    /// crond's other question: if a day field begins with `*`, a day must satisfy both, else one of them.
    pub(crate) fn needs_both_days(&self) -> bool {
        self.set(Field::DayOfMonth).is_starred() || self.set(Field::DayOfWeek).is_starred()
    }
}

/// The words between the blanks.
fn words(text: &str) -> Vec<Word<'_>> {
    let start = text.as_ptr() as usize;
    text.split_whitespace().map(|word| Word { text: word, at: word.as_ptr() as usize - start }).collect()
}

/// Reads `@hourly` and its like.
fn nickname(word: Word<'_>) -> Result<Expression, Fault> {
    let name = word.text.to_ascii_lowercase();
    if let Some((nickname, meaning)) = NICKNAMES.iter().find(|(nickname, _)| *nickname == name) {
        return Expression::read(meaning).map(|read| Expression { text: (*nickname).to_owned(), ..read });
    }
    if name == "@reboot" {
        let advice =
            "write `continuous` for a body that should always be running on one node, or an interval (`every 1h`)";
        return Err(word.fault("a fleet has no moment of booting").meant(Meant::Advice(advice.to_owned())));
    }
    let near = NICKNAMES.iter().find(|(nickname, _)| crate::schedule::zone::distance(nickname, &name) <= 2);
    let known = NICKNAMES.map(|(nickname, _)| nickname).join(" ");
    let fault = word.fault("this nickname is not known");
    Err(match near {
        Some((nickname, _)) => fault.instead(*nickname),
        None => fault.meant(Meant::Advice(format!("known are {known}, and `every 90s`"))),
    })
}

/// Says what is wrong with an expression that has not five or six fields.
fn wrong_count(words: &[Word<'_>]) -> Fault {
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return Fault::new(0..0, "the schedule is empty")
            .meant(Meant::Advice("write for example `@hourly`, `30 2 * * *` or `every 90s`".to_owned()));
    };
    let all = first.at..last.at + last.text.len();
    if first.text.trim_start_matches('@').eq_ignore_ascii_case("every") {
        return Fault::new(all, "an interval is not a cron expression")
            .meant(Meant::Advice("read it with `Schedule::parse`, or make it with `Schedule::every`".to_owned()));
    }
    if let (true, Some(right)) = (words.len() == 1, one_word(first.text)) {
        return Fault::new(all, "this word is not a schedule").meant(Meant::Whole(right));
    }
    let order = || Meant::Advice(format!("the fields are, in this order: {ORDER}; a sixth one in front is seconds"));
    match words.len() {
        7 => Fault::new(last.at..all.end, "a seventh field would be a year, which cron schedules do not have")
            .meant(Meant::Whole(without_quartz(&words[..6]))),
        count if count > 7 => {
            Fault::new(words[5].at..all.end, format!("{count} words: an expression has 5 or 6 fields and no command"))
                .meant(order())
        }
        1 => Fault::new(all, "1 word, where an expression has 5 or 6 fields").meant(order()),
        count => Fault::new(all, format!("{count} fields, where an expression has 5 or 6")).meant(order()),
    }
}

/// `CRON_TZ=Asia/Seoul` in front of the fields, as some crons have it.
fn variable(word: Word<'_>) -> Option<Fault> {
    let (name, _) = word.text.split_once('=')?;
    let advice = "the time zone is a setting of its own: `.in_zone(\"Asia/Seoul\")`, or `time_zone` in a file";
    Some(word.fault(format!("`{name}=` is not read here")).meant(Meant::Advice(advice.to_owned())))
}

/// The schedule that somebody who wrote one word probably wanted.
fn one_word(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let nickname = format!("@{lower}");
    if NICKNAMES.iter().any(|(known, _)| *known == nickname) {
        return Some(nickname);
    }
    if lower == "minutely" {
        return Some("* * * * *".to_owned());
    }
    if let Some((hour, minute)) = lower.split_once(':') {
        let (hour, minute) = (hour.parse::<u8>().ok()?, minute.parse::<u8>().ok()?);
        return (hour < 24 && minute < 60).then(|| format!("{minute} {hour} * * *"));
    }
    lower
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| format!("every {lower}"))
        .filter(|every| crate::schedule::every::Every::read(every.trim_start_matches("every"), 0).is_ok())
}

/// All that is wrong with the fields, sharpened by a look at all of them: `?` among six fields is Quartz, whose first is the second.
fn together(mut faults: impl Iterator<Item = Fault>, words: &[Word<'_>]) -> Option<Fault> {
    let first = faults.next()?;
    let quartz = words.len() == 6 && words.iter().any(|word| word.text == "?");
    let right = quartz.then(|| without_quartz(words)).filter(|right| Expression::read(right).is_ok());
    Some(match right {
        Some(right) => first.meant(Meant::Whole(right)),
        None => Fault { more: faults.collect(), ..first },
    })
}

/// Quartz's six fields as crontab(5) has them: no `?`, and no seconds if they are 0.
fn without_quartz(words: &[Word<'_>]) -> String {
    let right: Vec<&str> = words.iter().map(|word| if word.text == "?" { "*" } else { word.text }).collect();
    match right.split_first() {
        Some((&"0", rest)) => rest.join(" "),
        _ => right.join(" "),
    }
}
