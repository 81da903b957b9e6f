//! Reading one field of a cron expression: numbers, names, ranges, steps, and what people write instead of them.
//!
//! ```text
//! field   = item *( "," item )
//! item    = "*" [ "/" step ]                    any value, or every step-th from the smallest
//!         / value [ "/" step ]                  one value; with a step: up to the largest
//!         / value "-" value [ "/" step ]        a range, which does not run over the end of the field
//!         / "L" / "LW" / day "W"                day-of-month only
//!         / weekday "#" 1-5 / weekday "L"       day-of-week only
//! value   = digits / name                       a name of three letters, in any case
//! step    = digits                              1 to the length of what it divides
//! ```
//!
//! What other readers accept in silence is refused here, because it is hardly ever what was meant: a range that runs
//! backwards (some take it as empty, so the job never runs), a step that leaves only one value (`*/90`), a step after a
//! weekday (is Sunday its end, or Saturday?), the signs of Quartz, Jenkins and cronie.
//!
//! Every refusal knows its place in the whole text and, where there is one, the text that would be right there. What is
//! suggested is accepted by this reader: a test tries all suggestions.

use super::field::{Field, Item, Set};
use crate::schedule::error::{Fault, Meant};

/// A piece of the expression that knows where in the whole text it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'t> {
    /// The piece.
    pub(crate) text: &'t str,
    /// The byte at which it begins.
    pub(crate) at: usize,
}

impl<'t> Word<'t> {
    /// A fault that is the whole of this piece.
    pub(crate) fn fault(self, what: impl Into<String>) -> Fault {
        Fault::new(self.at..self.at + self.text.len(), what)
    }

    /// The pieces between a sign, which are one or more.
    fn split(self, sign: char) -> impl Iterator<Item = Word<'t>> {
        let mut at = self.at;
        self.text.split(sign).map(move |text| {
            let word = Word { text, at };
            at += text.len() + sign.len_utf8();
            word
        })
    }

    /// The pieces before and after the first occurrence of a sign.
    fn split_once(self, sign: char) -> Option<(Word<'t>, Word<'t>)> {
        let (before, after) = self.text.split_once(sign)?;
        let at = self.at + before.len() + sign.len_utf8();
        Some((Word { text: before, ..self }, Word { text: after, at }))
    }

    /// The piece without its last byte, if that is this letter in either case.
    fn without_last(self, letter: char) -> Option<Word<'t>> {
        let text = self.text.strip_suffix([letter, letter.to_ascii_lowercase()])?;
        Some(Word { text, ..self })
    }
}

/// Reads one field.
pub(crate) fn read(field: Field, word: Word<'_>) -> Result<Set, Fault> {
    let items = list(field, word).map_err(|fault| fault.in_field(field.name()))?;
    Ok(Set { field, text: word.text.to_ascii_uppercase(), items })
}

/// The items between the commas.
fn list(field: Field, word: Word<'_>) -> Result<Vec<Item>, Fault> {
    if word.text.split(',').any(str::is_empty) {
        let kept: Vec<&str> = word.text.split(',').filter(|item| !item.is_empty()).collect();
        let fault = word.fault("nothing stands before or after a comma");
        return Err(if kept.is_empty() { fault } else { fault.instead(kept.join(",")) });
    }
    let items = word.split(',').map(|item| read_item(field, item)).collect::<Result<Vec<_>, _>>()?;
    if items.contains(&Item::LastDay) && items.contains(&Item::LastWorkday) {
        return Err(word.fault("`L` and `LW` exclude each other: in most months they are one day"));
    }
    Ok(items)
}

/// One item of the list.
fn read_item(field: Field, item: Word<'_>) -> Result<Item, Fault> {
    foreign_sign(item)?;
    if let Some((range, step)) = item.split_once('/') {
        return stepped(field, item, range, step);
    }
    match item.text {
        "*" => Ok(Item::Star { step: 1 }),
        text if text.starts_with('*') => {
            Err(item.fault("`*` stands alone or has a step, as in `*/2`").instead(text.replacen('*', "", 1)))
        }
        text if text.contains('#') => nth(field, item),
        _ if field == Field::DayOfMonth => day_of_month(item),
        _ if field == Field::DayOfWeek => day_of_week(item),
        _ => plain(field, item),
    }
}

/// Signs that other schedulers know and crontab(5) does not, each with what to write here.
fn foreign_sign(item: Word<'_>) -> Result<(), Fault> {
    let advice = |text: &str| Meant::Advice(text.to_owned());
    let (what, meant) = match item.text {
        "?" => ("`?` is Quartz's sign for \"no matter\"", Meant::Instead("*".to_owned())),
        text if text.contains('?') => ("`?` is Quartz's and means nothing here", Meant::Instead(text.replace('?', ""))),
        "H" | "h" => ("`H` is Jenkins's", advice("write a number, and give the job a jitter to spread the load")),
        text if text.contains('~') => {
            ("`~` (a random value) is not read here", advice("write a number, and give the job a jitter"))
        }
        text if text.contains(['–', '—', '−']) => {
            ("this dash is not a hyphen", Meant::Instead(text.replace(['–', '—', '−'], "-")))
        }
        text if text.contains(['＊', '∗', '×']) => {
            ("this sign is not an asterisk", Meant::Instead(text.replace(['＊', '∗', '×'], "*")))
        }
        _ => return Ok(()),
    };
    Err(item.fault(what).meant(meant))
}

/// `range/step`.
fn stepped(field: Field, item: Word<'_>, range: Word<'_>, step: Word<'_>) -> Result<Item, Fault> {
    let steps = read_step(field, item, range, step)?;
    let (from, to, read) = match range.text {
        "*" => (field.min(), field.max(), Item::Star { step: steps }),
        "" => return Err(item.fault("nothing stands before the step").instead(format!("*{}", item.text))),
        text if text.contains('-') => {
            let (from, to) = span(field, range).map_err(|fault| unwrapped_steps(fault, field, item, steps))?;
            (from, to, Item::Range { from, to, step: steps })
        }
        text => {
            let from = value(field, range)?;
            if field == Field::DayOfWeek {
                let fault = item.fault("a weekday with a step does not say where it ends");
                return Err(
                    fault.instead(format!("{text}-{}/{steps}", if text.parse::<u8>().is_ok() { "7" } else { "SUN" }))
                );
            }
            (from, field.max(), Item::Open { from, step: steps })
        }
    };
    if steps > to - from {
        let what = format!("a step of {steps} is longer than {from} to {to}: only {from} would be left");
        return Err(item.fault(what).instead(field_text(field, range, from)));
    }
    Ok(read)
}

/// A range's only remaining value as it was written.
fn field_text(field: Field, range: Word<'_>, from: u8) -> String {
    match range.text.split_once('-') {
        Some((first, _)) => first.to_owned(),
        None if range.text == "*" => field.min().to_string(),
        None => from.to_string(),
    }
}

/// The number after a `/`.
fn read_step(field: Field, item: Word<'_>, range: Word<'_>, step: Word<'_>) -> Result<u8, Fault> {
    if step.text.is_empty() || !step.text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(step_place(item, step).fault("a step is a whole number of 1 or more"));
    }
    let steps: u32 = step.text.parse().unwrap_or(u32::MAX);
    if steps == 0 {
        return Err(item.fault("a step of 0 would never move on").instead(range.text));
    }
    if steps > u32::from(field.max()) {
        let what =
            format!("a step of {} leaves the field, whose {} end at {}", step.text, field.values_name(), field.max());
        return Err(item.fault(what).meant(longer_than_field(field, steps)));
    }
    Ok(u8::try_from(steps).unwrap_or(u8::MAX))
}

/// Where to point at for a step: at the step, or at the item if there is none to point at.
fn step_place<'t>(item: Word<'t>, step: Word<'t>) -> Word<'t> {
    if step.text.is_empty() { item } else { step }
}

/// What is meant by a step that is longer than its field: exactly one round (`*/60` is once an hour), or a distance
/// that fields can't say (`*/90`).
fn longer_than_field(field: Field, steps: u32) -> Meant {
    let unit = match field {
        Field::Second => 's',
        Field::Minute => 'm',
        Field::Hour => 'h',
        Field::DayOfMonth | Field::Month | Field::DayOfWeek => return Meant::Instead(field.min().to_string()),
    };
    if steps == u32::from(field.max()) + 1 {
        return Meant::Instead(field.min().to_string());
    }
    Meant::Advice(format!("a step begins anew with each field: for a fixed distance write `every {steps}{unit}`"))
}

/// `15W`, `LW`, `L`, or a plain value or range.
fn day_of_month(item: Word<'_>) -> Result<Item, Fault> {
    let capitals = item.text.to_ascii_uppercase();
    match capitals.as_str() {
        "L" => return Ok(Item::LastDay),
        "LW" => return Ok(Item::LastWorkday),
        "WL" => return Err(item.fault("the last workday is written `LW`").instead("LW")),
        "W" => return Err(item.fault("`W` needs a day before it").meant(Meant::Advice(
            "`15W` is the workday nearest to the 15th, `LW` the last one; for all workdays write `1-5` as day-of-week"
                .to_owned(),
        ))),
        text if text.starts_with("L-") => {
            return Err(item.fault("counting back from the last day is Quartz's").instead("L"));
        }
        text if text.starts_with('W') => {
            return Err(item.fault("the day stands before the `W`").instead(format!("{}W", &text[1..])));
        }
        _ => {}
    }
    match item.without_last('W') {
        Some(day) if day.text.contains('-') => Err(item.fault("`W` goes with a single day, not with a range")),
        Some(day) => Ok(Item::Nearest(value(Field::DayOfMonth, day)?)),
        None => plain(Field::DayOfMonth, item),
    }
}

/// `5L`, or a plain value or range.
fn day_of_week(item: Word<'_>) -> Result<Item, Fault> {
    let last = item.without_last('L').or_else(|| item.without_last('l'));
    match last {
        Some(Word { text: "", .. }) => Err(item
            .fault("`L` alone is Saturday in Quartz and nothing here")
            .meant(Meant::Advice("write `SAT` for every Saturday, `5L` for the last Friday of the month".to_owned()))),
        Some(day) => Ok(Item::LastOf { weekday: value(Field::DayOfWeek, day)? % 7 }),
        None if item.text.len() > 1 && item.text.starts_with(['L', 'l']) => {
            Err(item.fault("the day stands before the `L`").instead(format!("{}L", &item.text[1..])))
        }
        None => plain(Field::DayOfWeek, item),
    }
}

/// `5#3`.
fn nth(field: Field, item: Word<'_>) -> Result<Item, Fault> {
    let Some((day, nth)) = item.split_once('#') else { return plain(field, item) };
    if field != Field::DayOfWeek {
        return Err(item.fault("`#` counts weekdays: it belongs into day-of-week, as in `5#3` (the third Friday)"));
    }
    if day.text.contains('-') {
        return Err(item.fault("`#` goes with a single weekday, not with a range"));
    }
    let weekday = value(field, day)? % 7;
    match nth.text {
        "1" | "2" | "3" | "4" | "5" => Ok(Item::Nth { weekday, nth: nth.text.as_bytes()[0] - b'0' }),
        "L" | "l" => Err(item.fault("the last one of a month has no `#`").instead(format!("{}L", day.text))),
        _ => Err(item
            .fault("a month has the 1st to 5th of a weekday")
            .meant(Meant::Advice(format!("write `{0}#1` to `{0}#5`, or `{0}L` for the last", day.text)))),
    }
}

/// A value, or a range without a step.
fn plain(field: Field, item: Word<'_>) -> Result<Item, Fault> {
    if item.text.contains('-') {
        let (from, to) = span(field, item)?;
        return Ok(Item::Range { from, to, step: 1 });
    }
    value(field, item).map(Item::One)
}

/// The two ends of `from-to`, in order.
///
/// Sunday is both ends of a week, so a weekday's range may end with 7 or, after any other day, with `SUN`. `SUN-SUN`
/// and `0-SUN` are Sunday alone, as in Vixie's cron.
fn span(field: Field, range: Word<'_>) -> Result<(u8, u8), Fault> {
    let Some((first, last)) = range.split_once('-') else {
        return value(field, range).map(|value| (value, value));
    };
    if last.text.contains('-') && !last.text.starts_with('-') {
        return Err(range.fault("a range has two ends"));
    }
    if first.text.is_empty() || last.text.is_empty() || last.text.starts_with('-') {
        return Err(range.fault("a range needs a value on both sides of one `-`"));
    }
    let (from, mut to) = (value(field, first)?, value(field, last)?);
    if field == Field::DayOfWeek && last.text.eq_ignore_ascii_case("SUN") && from > 0 {
        to = 7;
    }
    if from > to {
        return Err(range
            .fault(format!("the range runs backwards, from {from} to {to}"))
            .instead(unwrapped(field, first, last)));
    }
    Ok((from, to))
}

/// A range that runs over the end of its field, as two that do not: `22-2` as `22-23,0-2`.
///
/// Written in the manner of the original, by name or by number. A range of weekdays that begins with 7 begins with
/// Sunday, so `7-2` is `0-2`.
fn unwrapped(field: Field, first: Word<'_>, last: Word<'_>) -> String {
    let named = first.text.parse::<u8>().is_err();
    let end = |value: u8| if named { field.written(value) } else { value.to_string() };
    let from = value(field, first).unwrap_or(field.min());
    let to = value(field, last).unwrap_or(field.min());
    if field == Field::DayOfWeek && from == 7 {
        return format!("0-{to}");
    }
    let begin = if named && field == Field::DayOfWeek { 1 } else { field.min() };
    let head = if from == field.max() { first.text.to_owned() } else { format!("{}-{}", first.text, end(field.max())) };
    match to {
        0 if field == Field::DayOfWeek => head,
        1 if field == Field::DayOfWeek => format!("{head},{}", last.text),
        to if to == begin => format!("{head},{}", last.text),
        _ if field == Field::DayOfWeek => format!("{head},{}-{}", end(1), last.text),
        _ => format!("{head},{}-{}", end(begin), last.text),
    }
}

/// A range with a step that runs over the end of its field, as a list of what it would reach: `22-4/2` as `22,0,2,4`.
///
/// Two ranges would not do: the second one's steps would not go on from the first one's.
fn unwrapped_steps(fault: Fault, field: Field, item: Word<'_>, steps: u8) -> Fault {
    let ends = item.split_once('/').and_then(|(range, _)| range.split_once('-'));
    let Some((Ok(from), Ok(to))) = ends.map(|(first, last)| (value(field, first), value(field, last))) else {
        return fault;
    };
    let size = if field == Field::DayOfWeek { 7 } else { field.max() - field.min() + 1 };
    let length = (u16::from(to) + u16::from(size) - u16::from(from)) % u16::from(size);
    let reached = (0..=length)
        .step_by(usize::from(steps))
        .map(|step| (u16::from(from - field.min()) + step) % u16::from(size) + u16::from(field.min()));
    let list: Vec<String> = reached.map(|value| value.to_string()).collect();
    Fault { at: item.at..item.at + item.text.len(), ..fault }.instead(list.join(","))
}

/// One value, by number or by name.
fn value(field: Field, word: Word<'_>) -> Result<u8, Fault> {
    if word.text.is_empty() {
        return Err(word.fault("a value is missing"));
    }
    if word.text.bytes().all(|b| b.is_ascii_digit()) {
        return number(field, word);
    }
    field.value_of(word.text).ok_or_else(|| not_a_value(field, word))
}

/// One value by number.
fn number(field: Field, word: Word<'_>) -> Result<u8, Fault> {
    let range = format!("{} go from {} to {}", field.values_name(), field.min(), field.max());
    match word.text.parse::<u8>() {
        Ok(value) if value < field.min() => {
            Err(word.fault(format!("{} is too small: {range}", word.text)).instead(field.min().to_string()))
        }
        Ok(value) if value <= field.max() => Ok(value),
        Ok(value) if value == field.max() + 1 && field.min() == 0 && field != Field::DayOfWeek => {
            Err(word.fault(format!("{} is too large: {range}", word.text)).instead("0"))
        }
        Ok(_) | Err(_) => Err(word.fault(format!("{} is too large: {range}", word.text))),
    }
}

/// Says why a word is no value of this field: too long a name, a value of another field (then the fields are probably
/// in the wrong order), or nothing that is known.
fn not_a_value(field: Field, word: Word<'_>) -> Fault {
    let short = word.text.get(..3).filter(|_| word.text.bytes().all(|b| b.is_ascii_alphabetic()));
    if let Some(name) = short.filter(|name| word.text.len() > 3 && field.value_of(name).is_some()) {
        return word.fault("names have three letters").instead(name.to_ascii_uppercase());
    }
    let other = Field::ALL.into_iter().find(|other| short.is_some_and(|name| other.value_of(name).is_some()));
    match other {
        Some(other) => word.fault(format!("`{}` is a value of {}", word.text, other.name())).meant(Meant::Advice(
            "the fields are, in this order: minute hour day-of-month month day-of-week".to_owned(),
        )),
        None if field.names().is_empty() => word.fault(format!("`{}` is not a number", word.text)),
        None => word.fault(format!(
            "`{}` is neither a number nor one of {} to {}",
            word.text,
            field.names()[0],
            field.names()[field.names().len() - 1]
        )),
    }
}
