//! Reading one table of the file: key by key, each with its place, and at the end whatever key nobody asked for.
//!
//! A reader that stops at the first error makes a person start the sidecar ten times to find ten mistakes. So what is wrong is
//! noted and reading goes on, as if the key were not there.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};

use jiff::SignedDuration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::source::{Complaint, Source};
use super::text::{self, Secret};
use crate::length;

/// The file, the environment, and what is wrong so far.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(super) complaints: RefCell<Vec<Complaint>>,
}

impl Reader<'_> {
    pub(super) fn complain(&self, at: Range<usize>, what: impl Into<String>, right: Option<String>) {
        self.complaints.borrow_mut().push(Complaint::new(at, what, right));
    }
}

/// One table.
pub(super) struct Section<'a> {
    pub(super) reader: &'a Reader<'a>,
    /// What complaints begin with: `job "order-sync": `, or nothing.
    pub(super) title: String,
    /// The key that the table stands under.
    pub(super) at: Range<usize>,
    table: &'a DeTable<'a>,
    asked: RefCell<Vec<&'static str>>,
}

/// A key that is there, and its value.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    pub(super) name: &'static str,
    pub(super) key_at: Range<usize>,
    pub(super) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Section<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, title: String, at: Range<usize>, table: &'a DeTable<'a>) -> Section<'a> {
        Section { reader, title, at, table, asked: RefCell::default() }
    }

    /// The key, if it is there. Asking makes it a known one.
    pub(super) fn entry(&self, name: &'static str) -> Option<Entry<'a>> {
        self.asked.borrow_mut().push(name);
        let (key, value) = self.table.get_key_value(name)?;
        Some(Entry { name, key_at: key.span(), value })
    }

    /// Where a key stands, or the table where it does not.
    pub(super) fn place(&self, name: &str) -> Range<usize> {
        self.table.get_key_value(name).map_or(self.at.clone(), |(key, _)| key.span())
    }

    /// Where a key's value stands, or the table where it does not.
    pub(super) fn value_place(&self, name: &str) -> Range<usize> {
        self.table.get(name).map_or(self.at.clone(), Spanned::span)
    }

    pub(super) fn complain(&self, at: Range<usize>, what: impl std::fmt::Display, right: Option<&str>) {
        self.reader.complain(at, format!("{}{what}", self.title), right.map(str::to_owned));
    }

    /// The value is of another kind. A text is not marked, and so not shown: it may be a secret.
    pub(super) fn wrong_kind(&self, entry: &Entry<'_>, wanted: &str) {
        self.wrong_kind_of(entry, entry.value, wanted);
    }

    fn wrong_kind_of(&self, entry: &Entry<'_>, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let found = value.get_ref().type_str();
        let article = if found.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let is_plain = matches!(value.get_ref(), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_));
        let at = if is_plain { value.span() } else { entry.key_at.clone() };
        self.complain(at, format_args!("{}: {article} {found} does not fit here", entry.name), Some(wanted));
    }

    /// A text that is no secret, `${NAME}` replaced, and its place.
    pub(super) fn text(&self, name: &'static str) -> Option<Spanned<String>> {
        let entry = self.entry(name)?;
        let text = self.text_of(&entry, entry.value)?;
        Some(Spanned::new(entry.value.span(), text))
    }

    /// The text of a value, or of one of a list; nothing if something is wrong with it.
    pub(super) fn text_of(&self, entry: &Entry<'a>, value: &Spanned<DeValue<'a>>) -> Option<String> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_kind_of(entry, value, "a text in quotes");
            return None;
        };
        let complain = |faults: Vec<text::Fault>| {
            for fault in faults {
                self.complain(entry.key_at.clone(), format_args!("{}: {}", entry.name, fault.what), Some(&fault.right));
            }
        };
        text::expand(text, self.reader.variable).map_err(complain).ok()
    }

    /// A text that may be a secret: also from a file.
    pub(super) fn secret(&self, name: &'static str) -> Option<Secret> {
        let entry = self.entry(name)?;
        self.secret_of(&entry, entry.value)
    }

    pub(super) fn secret_of(&self, entry: &Entry<'a>, value: &Spanned<DeValue<'a>>) -> Option<Secret> {
        let text = self.text_of(entry, value)?;
        let Some(path) = text.strip_prefix("file:") else { return Some(Secret::new(text)) };
        let complain = |fault: text::Fault| {
            self.complain(entry.key_at.clone(), format_args!("{}: {}", entry.name, fault.what), Some(&fault.right));
        };
        text::from_file(path, self.reader.source.directory()).map_err(complain).map(Secret::new).ok()
    }

    /// A length of time.
    pub(super) fn length(&self, name: &'static str) -> Option<SignedDuration> {
        let entry = self.entry(name)?;
        let Some(text) = entry.value.get_ref().as_str() else {
            self.wrong_kind(&entry, length::EXAMPLES);
            return None;
        };
        let complain = |why: &str| {
            self.complain(entry.value.span(), format_args!("{name}: {text:?} {why}"), Some(length::EXAMPLES));
        };
        length::parse(text).map_err(complain).ok()
    }

    /// A whole number.
    pub(super) fn number(&self, name: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        let entry = self.entry(name)?;
        let wanted = match (*range.start(), *range.end()) {
            (least, u32::MAX) => format!("a whole number, at least {least}"),
            (least, most) => format!("a whole number from {least} to {most}"),
        };
        let Some(number) = entry.value.get_ref().as_integer() else {
            self.wrong_kind(&entry, &wanted);
            return None;
        };
        let value = i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok();
        let fitting = value.and_then(|value| u32::try_from(value).ok()).filter(|value| range.contains(value));
        if fitting.is_none() {
            self.complain(
                entry.value.span(),
                format_args!("{name}: {} is out of range", number.as_str()),
                Some(&wanted),
            );
        }
        fitting
    }

    /// Yes or no.
    pub(super) fn yes(&self, name: &'static str) -> Option<bool> {
        let entry = self.entry(name)?;
        let yes = entry.value.get_ref().as_bool();
        if yes.is_none() {
            self.wrong_kind(&entry, "true or false, without quotes");
        }
        yes
    }

    /// One word of several.
    pub(super) fn choice<T: Copy>(&self, name: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let words = choices.iter().map(|(word, _)| *word);
        let found = choices.iter().find(|(word, _)| *word == text.get_ref());
        if found.is_none() {
            let right = words.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" or ");
            self.complain(text.span(), format_args!("{name}: there is no {:?}", text.get_ref()), Some(&right));
        }
        found.map(|(_, choice)| *choice)
    }

    /// A list of texts.
    pub(super) fn texts_of(&self, entry: &Entry<'a>, wanted: &str) -> Option<Vec<String>> {
        let Some(list) = entry.value.get_ref().as_array() else {
            self.wrong_kind(entry, wanted);
            return None;
        };
        let texts: Vec<Option<String>> = list.iter().map(|value| self.text_of(entry, value)).collect();
        texts.into_iter().collect()
    }

    /// A table inside this one.
    pub(super) fn table(&self, name: &'static str, wanted: &str) -> Option<Section<'a>> {
        let entry = self.entry(name)?;
        self.table_of(&entry, wanted)
    }

    pub(super) fn table_of(&self, entry: &Entry<'a>, wanted: &str) -> Option<Section<'a>> {
        let Some(table) = entry.value.get_ref().as_table() else {
            self.wrong_kind(entry, wanted);
            return None;
        };
        let title = format!("{}{}: ", self.title, entry.name);
        Some(Section::new(self.reader, title, entry.key_at.clone(), table))
    }

    /// Names of the file's own choosing, each with a text that may be a secret.
    pub(super) fn pairs(&self, name: &'static str, wanted: &str) -> Vec<(Spanned<String>, Secret)> {
        let Some(entry) = self.entry(name) else { return Vec::new() };
        let Some(table) = entry.value.get_ref().as_table() else {
            self.wrong_kind(&entry, wanted);
            return Vec::new();
        };
        let pairs = table.iter().filter_map(|(key, value)| {
            let entry = Entry { key_at: key.span(), ..entry.clone() };
            let secret = self.secret_of(&entry, value)?;
            Some((Spanned::new(key.span(), key.get_ref().to_string()), secret))
        });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_by(|one, another| one.0.get_ref().cmp(another.0.get_ref()));
        pairs
    }

    /// Every key and its value, in the order of the file: for a table whose keys are names of the file's own choosing.
    pub(super) fn named(&self) -> Vec<(Spanned<String>, &'a Spanned<DeValue<'a>>)> {
        let spanned = |key: &Spanned<_>| Spanned::new(key.span(), AsRef::<str>::as_ref(key.get_ref()).to_owned());
        let mut named: Vec<_> = self.table.iter().map(|(key, value)| (spanned(key), value)).collect();
        named.sort_by_key(|(key, _)| key.span().start);
        named
    }

    /// Complains about every key that nobody has asked for.
    pub(super) fn finish(self) {
        let asked = self.asked.borrow();
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if asked.contains(&name) {
                continue;
            }
            let right = match crate::near::nearest(name, asked.iter().copied()) {
                Some(near) => near.to_owned(),
                None => {
                    let mut known = asked.clone();
                    known.sort_unstable();
                    known.dedup();
                    format!("one of {}", known.join(", "))
                }
            };
            self.complain(key.span(), format_args!("there is no key {name:?} here"), Some(&right));
        }
    }
}
