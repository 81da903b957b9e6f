//! Whether a key is that of a name, by the ways in which applications make keys of names.

use super::hash::{crc32, fnv1, java};
use crate::key::Key;
use crate::name::{JobName, Namespace};

/// The way that leads from the name to the key; `pair`: to the key in its two-integer form. What the server's own functions compute
/// (`hashtext`, `md5`) is asked of the server.
#[must_use]
pub fn way(name: &str, key: Key, pair: bool, namespace: Option<&Namespace>) -> Option<&'static str> {
    let bytes = name.as_bytes();
    let job = JobName::parse(name).ok();
    let of_job = |namespace| job.as_ref().map(|job| Key::of(namespace, job));
    let of_group = || job.as_ref().map(|job| Key::of_group(namespace, job));
    let bigint: [(&str, Option<i64>); 7] = [
        ("the key of a job of hourhand", of_job(namespace).map(Key::value)),
        ("the key of a job of hourhand, without a namespace", of_job(None).map(Key::value)),
        ("the key of a group of hourhand", of_group().map(Key::value)),
        ("its number", name.trim().parse().ok()),
        ("crc32, signed: django-pglocks", Some(i64::from(crc32(bytes).cast_signed()))),
        ("crc32", Some(i64::from(crc32(bytes)))),
        ("fnv-1", Some(i64::from(fnv1(bytes)))),
    ];
    let java = ("Java's hashCode", Some(i64::from(java(name))));
    let of_pair: [(&str, Option<i64>); 3] = [
        ("the watch of a job of hourhand", of_job(namespace).map(Key::value)),
        ("its two numbers", two_numbers(name).map(Key::value)),
        ("crc32: with_advisory_lock", Some(Key::from_halves(crc32(bytes) & 0x7fff_ffff, 0).value())),
    ];
    let ways: Vec<_> = if pair { of_pair.to_vec() } else { bigint.into_iter().chain([java]).collect() };
    ways.into_iter().find(|(_, made)| *made == Some(key.0)).map(|(way, _)| way)
}

/// `1,2` or `1 2`, signed as the two-integer functions take them.
fn two_numbers(name: &str) -> Option<Key> {
    let (one, other) = name.split_once([',', ' '])?;
    let half = |text: &str| text.trim().parse::<i32>().ok().map(i32::cast_unsigned);
    Some(Key::from_halves(half(one)?, half(other)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guessed_name_is_found_by_whatever_way_its_key_was_made() {
        let job = JobName::parse("nightly").unwrap();
        let namespace = Namespace::parse("shop").unwrap();
        let way_of = |key, pair| way("nightly", Key(key), pair, Some(&namespace));
        assert_eq!(way_of(Key::of(Some(&namespace), &job).0, false), Some("the key of a job of hourhand"));
        assert!(way_of(Key::of(None, &job).0, false).is_some_and(|way| way.contains("without a namespace")));
        assert_eq!(way_of(Key::of(Some(&namespace), &job).0, true), Some("the watch of a job of hourhand"));
        let signed = crc32(b"nightly").cast_signed();
        assert!(way_of(signed.into(), false).is_some_and(|way| way.contains("crc32")));
        assert!(way_of(Key::from_halves(crc32(b"nightly") & 0x7fff_ffff, 0).0, true).is_some());
        assert_eq!(way("42", Key(42), false, None), Some("its number"));
        assert_eq!(way("-1, 7", Key::from_halves(u32::MAX, 7), true, None), Some("its two numbers"));
        assert_eq!(way("42", Key(43), false, None), None);
    }
}
