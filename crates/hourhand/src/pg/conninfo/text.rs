//! Reads the two forms of a connection string: `name=value` pairs here, URLs in [`super::url`].
//!
//! Both follow libpq's `fe-connect.c` letter by letter, so that a string means here what it means to psql, with these
//! differences, all on the strict or the forgiving side of what libpq does and none of them a different reading:
//! blanks and line ends around the whole are dropped (secrets read from files end in one); an unencoded `@` in the
//! path of a URL is an error (see [`super::url`]).

use super::error::{ConninfoError, Place, Problem};
use super::parameter;
use super::settings::Settings;
use super::url;

/// Schemes that people write for other programs' sake, and what to do about them.
const SCHEMES: &[(&str, &str)] = &[
    ("jdbc:", "leave out jdbc: and write user and password as user:password@host or as parameters"),
    ("postgresql+", "leave out what stands between postgresql and :// (it names a driver)"),
    ("postgres+", "leave out what stands between postgres and :// (it names a driver)"),
    ("psql://", "write postgresql://"),
    ("pgsql://", "write postgresql://"),
    ("postgis://", "write postgresql://"),
    ("cockroachdb://", "write postgresql://"),
];

/// Reads a connection string of either form; an empty one sets nothing.
pub(super) fn read(text: &str) -> Result<Settings, ConninfoError> {
    let text = text.trim_matches(is_blank);
    if text.contains('\0') {
        return Err(ConninfoError::text(Problem::Zero));
    }
    if let Some(rest) = url::PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        return url::read(rest);
    }
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    if let Some((_, hint)) = SCHEMES.iter().find(|(scheme, _)| text.starts_with(scheme)) {
        return Err(ConninfoError::text(Problem::Scheme(hint)));
    }
    // `password=a://b` has one too; a scheme is made of few letters.
    if scheme.is_some_and(|scheme| scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '+')) {
        return Err(ConninfoError::text(Problem::Scheme("write postgresql:// or postgres://, in small letters")));
    }
    if !text.is_empty() && !text.contains('=') {
        return Err(ConninfoError::text(Problem::NoForm));
    }
    read_pairs(text)
}

/// Reads `name=value name='value'`.
fn read_pairs(text: &str) -> Result<Settings, ConninfoError> {
    let mut settings = Settings::default();
    let mut in_doubt = false;
    let mut rest = skip_blanks(text);
    for nth in 1.. {
        if rest.is_empty() {
            break;
        }
        let name_length = rest.find(|letter| letter == '=' || is_blank(letter)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(name_length);
        // Behind a password, what is no setting is probably the rest of the password: it is not shown.
        let refused = |problem| ConninfoError::text(if in_doubt { behind_password(name, QUOTE) } else { problem });
        let Some(behind) = skip_blanks(behind).strip_prefix('=') else {
            return Err(refused(Problem::NoEquals { nth }));
        };
        let (value, behind) =
            read_value(skip_blanks(behind)).ok_or_else(|| ConninfoError::text(Problem::UnclosedQuote))?;
        let parameter = parameter::find(name).ok_or_else(|| refused(unknown(name)))?;
        in_doubt |= parameter.name == "password";
        settings.set(parameter, value, Place::Text);
        rest = skip_blanks(behind);
    }
    Ok(settings)
}

/// A value and what stands behind it, or nothing if its quotes do not end.
fn read_value(text: &str) -> Option<(String, &str)> {
    let (quoted, text) = match text.strip_prefix('\'') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' if quoted => return Some((value, &text[at + 1..])),
            blank if !quoted && is_blank(blank) => return Some((value, &text[at..])),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (!quoted).then_some((value, ""))
}

/// What to say of a name that is no parameter.
pub(super) fn unknown(name: &str) -> Problem {
    if let Some((name, owner)) = parameter::foreign(name) {
        return Problem::ForeignParameter { name, owner };
    }
    let nearest = parameter::nearest(name);
    // Names are shown, whatever else stands there is not.
    let is_name =
        name.len() <= 40 && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter));
    let name = if is_name && !name.is_empty() { name } else { "(not shown: it does not look like a name)" };
    Problem::UnknownParameter { name: name.to_owned(), nearest }
}

/// What to say instead where an unknown name may be a piece of a password.
pub(super) fn behind_password(name: &str, advice: &'static str) -> Problem {
    Problem::BehindPassword { advice, nearest: parameter::nearest(name) }
}

const QUOTE: &str = "a value with blanks, ' or \\ in it is written in quotes: password='it\\'s'";

/// C's `isspace`.
fn is_blank(letter: char) -> bool {
    letter.is_ascii_whitespace() || letter == '\x0b'
}

fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches(is_blank)
}
