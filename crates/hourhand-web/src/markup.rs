//! Pieces of HTML that are made here and therefore not escaped again: times, lengths, badges.
//!
//! Invariant: what comes from outside goes into a [`Markup`] through [`escape`] only.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use askama::filters::HtmlSafe;
use hourhand_core::plain;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl Markup {
    /// What is put together from our own words and escaped ones.
    pub(crate) fn of(html: impl Into<String>) -> Markup {
        Markup(html.into())
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

/// Text as it may stand between tags and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// The whole page in which nothing steers the eye, whatever strangers wrote: `⟨ESC⟩`, `⟨U+202E⟩`. Ends of lines and tabs stay. What a form
/// has to send back as it is stands in [`value`].
pub(crate) fn visible(html: &str) -> Cow<'_, str> {
    let stands = |sign: char| !plain::steers(sign) || sign == '\n' || sign == '\t';
    if html.chars().all(stands) {
        return Cow::Borrowed(html);
    }
    let mut shown = String::with_capacity(html.len() + 64);
    let mut signs = html.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            sign if stands(sign) => shown.push(sign),
            '\r' if signs.peek() == Some(&'\n') => {}
            '\u{1b}' => shown.push_str("⟨ESC⟩"),
            '\r' => shown.push_str("⟨CR⟩"),
            '\u{8}' => shown.push_str("⟨BS⟩"),
            '\u{7}' => shown.push_str("⟨BEL⟩"),
            other => {
                let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(other));
            }
        }
    }
    Cow::Owned(shown)
}

/// What a form or the script has to get back exactly as it is: for attributes only.
pub(crate) fn value(text: &str) -> Markup {
    let mut exact = String::with_capacity(text.len());
    for sign in text.chars() {
        if plain::steers(sign) {
            let _ = write!(exact, "&#{};", u32::from(sign));
        } else {
            exact.push_str(&escape(sign.encode_utf8(&mut [0; 4])));
        }
    }
    Markup(exact)
}

/// What a program wrote for a terminal, without its colours: they steer nothing else, and nobody misses them here.
pub(crate) fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains("\u{1b}[") {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        let after = &rest[at + 2..];
        let parameters = after.find(|sign: char| !matches!(sign, '0'..='9' | ';' | ':')).unwrap_or(after.len());
        let is_colour = after[parameters..].starts_with('m');
        plain.push_str(&rest[..if is_colour { at } else { at + 2 }]);
        rest = if is_colour { &after[parameters + 1..] } else { after };
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// An instant in UTC: `2026-11-30 18:55:12`.
pub(crate) fn utc(at: Timestamp) -> String {
    at.to_zoned_datetime(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// An instant. Without script in UTC; the script puts the reader's own time in its place, and UTC beside it.
pub(crate) fn when(at: &Timestamp) -> Markup {
    Markup(format!("<time class=\"when\" datetime=\"{at:.3}\">{} <span class=\"utc\">UTC</span></time>", utc(*at)))
}

/// How far an instant is from now, for people; the script counts on.
pub(crate) fn distance(at: &Timestamp, now: &Timestamp) -> Markup {
    let away = at.duration_since(*now);
    let text =
        if away.is_negative() { format!("{} ago", roughly(away.abs())) } else { format!("in {}", roughly(away)) };
    Markup(format!("<time class=\"distance\" datetime=\"{at:.3}\" title=\"{} UTC\">{text}</time>", utc(*at)))
}

/// How long something has been going on; the script counts on.
pub(crate) fn since(at: &Timestamp, now: &Timestamp) -> Markup {
    let text = length(now.duration_since(*at));
    Markup(format!("<time class=\"since\" datetime=\"{at:.3}\" title=\"since {} UTC\">{text}</time>", utc(*at)))
}

/// How long something took.
pub(crate) fn took(took: &SignedDuration) -> String {
    length(*took)
}

/// With a capital.
pub(crate) fn sentence(text: &str) -> String {
    let mut signs = text.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}

/// The beginning of a text that may be long.
pub(crate) fn first_line(text: &str) -> String {
    const CHARS_MAX: usize = 160;
    let text = without_colours(text);
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(CHARS_MAX).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// A length in its largest unit: `3 min`.
fn roughly(length: SignedDuration) -> String {
    match length.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ ..3600 => format!("{} min", seconds / 60),
        seconds @ ..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// A length as exact as is of use: `0.12 s`, `4 min 5 s`, `2 h 3 min`.
pub(crate) fn length(length: SignedDuration) -> String {
    let seconds = length.as_secs_f64().max(0.0);
    let whole = length.as_secs().max(0);
    let mut text = String::new();
    let parts = match whole {
        ..1 => return format!("{seconds:.2} s"),
        1..60 => return format!("{seconds:.1} s"),
        60..3600 => [(whole / 60, "min"), (whole % 60, "s")],
        3600..86_400 => [(whole / 3600, "h"), (whole % 3600 / 60, "min")],
        86_400.. => [(whole / 86_400, "d"), (whole % 86_400 / 3600, "h")],
    };
    for (number, unit) in parts.into_iter().filter(|(number, _)| *number > 0) {
        let gap = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{gap}{number} {unit}");
    }
    text
}

/// An outcome, or a state: a sign and a word, so that colour is not all that tells them apart.
pub(crate) fn badge(word: &str) -> Markup {
    let (class, sign) = look(word);
    let said = escape(&word.replace('_', " "));
    Markup(format!(
        "<span class=\"badge {class}\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span>{said}</span>"
    ))
}

/// The class and the sign of an outcome or a state.
pub(crate) fn look(word: &str) -> (&'static str, &'static str) {
    match word {
        "succeeded" => ("good", "✓"),
        "failed" => ("bad", "✕"),
        "panicked" => ("bad", "!"),
        "timed_out" => ("bad", "◷"),
        "lost" => ("bad", "?"),
        "cancelled" => ("off", "⊘"),
        "skipped" => ("off", "»"),
        "running" => ("busy", "▶"),
        "paused" => ("held", "‖"),
        "overdue" => ("late", "!"),
        "orphaned" => ("late", "∅"),
        "held" => ("late", "⚿"),
        "error" => ("bad", "✕"),
        "warning" => ("late", "!"),
        "info" => ("busy", "i"),
        _ => ("off", "·"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_exact_as_is_of_use() {
        let said = |millis| length(SignedDuration::from_millis(millis));
        assert_eq!(said(120), "0.12 s");
        assert_eq!(said(-5), "0.00 s");
        assert_eq!(said(59_940), "59.9 s");
        assert_eq!(said(245_000), "4 min 5 s");
        assert_eq!(said(3_600_000), "1 h");
        assert_eq!(said(90_061_000), "1 d 1 h");
    }

    #[test]
    fn what_is_told_of_an_instant_is_exact_in_its_attribute() {
        let (at, now) = ("2026-11-30T18:55:12.3456Z".parse().unwrap(), "2026-11-30T18:59:00Z".parse().unwrap());
        assert!(when(&at).to_string().contains("datetime=\"2026-11-30T18:55:12.345Z\">2026-11-30 18:55:12 "));
        assert!(distance(&at, &now).to_string().ends_with(">3 min ago</time>"));
        assert!(distance(&now, &at).to_string().ends_with(">in 3 min</time>"));
    }

    #[test]
    fn nothing_on_a_page_steers_the_eye_and_forms_send_names_back_as_they_are() {
        assert_eq!(
            visible("a\u{1b}[2Jb\u{202e}c\r\nd\te\rf\u{7f}\u{9b}"),
            "a⟨ESC⟩[2Jb⟨U+202E⟩c\nd\te⟨CR⟩f⟨U+007F⟩⟨U+009B⟩"
        );
        assert!(matches!(visible("정산-작업 ⏰"), Cow::Borrowed(_)));
        assert_eq!(value("a\u{202e}\"<").to_string(), "a&#8238;&quot;&lt;");
    }

    #[test]
    fn colours_of_a_terminal_are_left_out_and_nothing_else() {
        assert_eq!(without_colours("\u{1b}[1;32mok\u{1b}[0m \u{1b}[2J\u{1b}[3"), "ok \u{1b}[2J\u{1b}[3");
    }

    #[test]
    fn a_word_that_nobody_knows_is_shown_and_escaped() {
        assert!(badge("<b>").to_string().contains("&lt;b&gt;"));
    }
}
