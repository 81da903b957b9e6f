//! Passwords in connection strings: kept out of the process list, out of messages, out of `Debug`.
//!
//! Everybody on a machine can read `/proc/PID/cmdline`. So a program that is started with a password in its arguments replaces
//! itself (`exec`, same process id) by itself with `file:/dev/fd/N` in that place, the reading end of a pipe that holds the string.
//! What remains is the blink before; who can keep the password out of the command line should (environment, file, `~/.pgpass`).

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

/// The options whose values are connection strings.
#[cfg(any(target_os = "linux", test))]
const OPTIONS: [&str; 2] = ["--database", "--session-url"];

/// A connection string, or `file:PATH` of one. `Debug` shows nothing of it.
#[derive(Clone)]
pub(crate) struct Secret {
    text: String,
    /// What the file says. Read once: a pipe says it once.
    read: Arc<OnceLock<String>>,
}

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret { text, read: Arc::default() }
    }
}

/// Never fails: clap would repeat the value in its complaint.
impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Secret, Infallible> {
        Ok(Secret::from(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// The text itself, or that of its file without the line's end.
    ///
    /// # Errors
    ///
    /// The complaint that the file can't be read; `what` gave its name.
    pub(crate) fn read(&self, what: &str) -> Result<String, String> {
        let Some(path) = self.text.strip_prefix("file:") else { return Ok(self.text.clone()) };
        if let Some(text) = self.read.get() {
            return Ok(text.clone());
        }
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|error| format!("{what}: could not read {path}: {error}"))?;
        Ok(self.read.get_or_init(|| text.trim().to_owned()).clone())
    }
}

/// The password in a word, as far as one can see from outside: between the first `:` and the last `@` of a URL's authority, or after `password=`.
fn password(word: &str) -> Option<&str> {
    if let Some((_, rest)) = word.split_once("://") {
        let authority = &rest[..rest.rfind('@').unwrap_or(0)];
        if let Some((_, password)) = authority.split_once(':') {
            return Some(password).filter(|password| !password.is_empty());
        }
    }
    let (_, rest) = word.split_once("password=")?;
    let quoted = rest.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
    quoted.or_else(|| rest.split([' ', '&']).next()).filter(|password| !password.is_empty())
}

/// A message without the passwords that stand among the words of the command line.
pub(crate) fn without_passwords(message: &str, words: impl Iterator<Item = String>) -> String {
    words.fold(message.to_owned(), |message, word| match password(&word) {
        // By itself only where it is no everyday word: "a" stands in every message.
        Some(password) if password.len() >= 6 => message.replace(password, "***"),
        Some(password) => message.replace(&word, &word.replace(password, "***")),
        None => message,
    })
}

/// The words of the command line; none for one that is no UTF-8, and so no connection string.
pub(crate) fn words() -> Vec<Option<String>> {
    std::env::args_os().map(|word| word.into_string().ok()).collect()
}

/// Where in the arguments connection strings with a password stand: index of the word, and where in it the value begins.
#[cfg(any(target_os = "linux", test))]
fn places(words: &[Option<String>]) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let ours = words.iter().map(|word| word.as_deref().unwrap_or_default()).enumerate();
    for (at, word) in ours.take_while(|(_, word)| *word != "--").skip(1) {
        let joined = OPTIONS.iter().find(|option| word.starts_with(&format!("{option}=")));
        let start = match joined {
            Some(option) => option.len() + 1,
            None if words[at - 1].as_deref().is_some_and(|before| OPTIONS.contains(&before)) => 0,
            None => continue,
        };
        if password(&word[start..]).is_some() {
            places.push((at, start));
        }
    }
    places
}

/// Replaces this process by itself without passwords in its arguments, if there are any. Where that can't be done (no `/proc`, a
/// string longer than a pipe holds), it goes on as it is.
#[cfg(target_os = "linux")]
pub(crate) fn leave_the_process_list() {
    use std::os::unix::process::CommandExt as _;

    let (texts, mut words) = (words(), std::env::args_os().collect::<Vec<_>>());
    let places = places(&texts);
    let Ok(program) = std::env::current_exe() else { return };
    let mut kept = Vec::new();
    for (at, start) in &places {
        let text = texts[*at].as_deref().unwrap_or_default();
        let Some(end) = piped(&text[*start..]) else { return };
        words[*at] = format!("{}file:/dev/fd/{}", &text[..*start], std::os::fd::AsRawFd::as_raw_fd(&end)).into();
        kept.push(end);
    }
    if let (Some((name, rest)), false) = (words.split_first(), places.is_empty()) {
        let error = std::process::Command::new(program).arg0(name).args(rest).exec();
        // The pipes go with `kept`, and the arguments are read as they were.
        tracing::debug!(%error, "the password stays in the process list");
    }
}

/// Nothing of the kind is known to work elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn leave_the_process_list() {}

/// The reading end of a pipe with the text in it, which the next program inherits.
#[cfg(target_os = "linux")]
fn piped(text: &str) -> Option<std::os::fd::OwnedFd> {
    // Without CLOEXEC: it is meant to be inherited. Written without waiting: what does not fit stays where it is.
    let (reading, writing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).ok()?;
    rustix::io::fcntl_setfd(&writing, rustix::io::FdFlags::CLOEXEC).ok()?;
    let written = rustix::io::write(&writing, text.as_bytes()).ok()?;
    (written == text.len()).then_some(reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_in_urls_and_pairs() {
        assert_eq!(password("postgres://ann:s3cret@db/app"), Some("s3cret"));
        assert_eq!(password("postgres://ann:s@3:cret@db:5432/app"), Some("s@3:cret"));
        assert_eq!(password("host=db password=s3cret user=ann"), Some("s3cret"));
        assert_eq!(password("host=db password='s3 cret' user=ann"), Some("s3 cret"));
        assert_eq!(password("postgres://db/app?user=ann&password=s3cret&x=1"), Some("s3cret"));
        for without in ["postgres://db:5432/app", "postgres://ann@db:5432/app", "host=db", "order-sync", "a@b:c"] {
            assert_eq!(password(without), None, "{without}");
        }
    }

    #[test]
    fn a_complaint_about_a_misplaced_url_does_not_repeat_its_password() {
        let words = ["hourhand", "status", "postgres://ann:s3cret@db/app"].map(str::to_owned);
        let told = without_passwords("unexpected argument 'postgres://ann:s3cret@db/app' found", words.into_iter());
        assert_eq!(told, "unexpected argument 'postgres://ann:***@db/app' found");
    }

    #[test]
    fn strings_are_found_as_one_word_or_two_and_a_wrapped_commands_own_are_left_alone() {
        let line =
            "hourhand --database postgres://a:b@c/d status --session-url=postgres://a:b@e/f -- x --database p://a:b@c";
        let mut words: Vec<Option<String>> = line.split(' ').map(|word| Some(word.to_owned())).collect();
        assert_eq!(places(&words), [(2, 0), (4, "--session-url=".len())]);
        words.insert(3, None);
        assert_eq!(places(&words), [(2, 0), (5, "--session-url=".len())], "a word that is no UTF-8 hides no other");
    }

    #[test]
    fn its_debug_shows_nothing() {
        assert_eq!(format!("{:?}", Secret::from("postgres://ann:s3cret@db/app".to_owned())), "Secret");
    }
}
