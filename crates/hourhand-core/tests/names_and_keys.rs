//! Names are checked at the door, and keys are a frozen wire format.

use hourhand_core::key::Key;
use hourhand_core::name::{JobName, NameError, Namespace};

/// The lines of `testdata/keys.txt`, split.
fn vectors() -> impl Iterator<Item = [&'static str; 6]> {
    let lines = include_str!("../testdata/keys.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(" | ").collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("6 parts: {line}")))
}

#[test]
fn keys_equal_the_frozen_vectors_which_another_language_computed() {
    let mut checked = 0;
    for [kind, namespace, name, key, classid, objid] in vectors() {
        let namespace = (namespace != "-").then(|| Namespace::parse(namespace).unwrap());
        let computed = match kind {
            "job" => Key::of(namespace.as_ref(), &JobName::parse(name).unwrap()),
            "group" => Key::of_group(namespace.as_ref(), &JobName::parse(name).unwrap()),
            "migration" => Key::MIGRATION,
            _ => panic!("kind {kind}"),
        };
        assert_eq!(computed, Key(key.parse().unwrap()), "{kind} {name}");
        assert_eq!(
            (computed.classid(), computed.objid()),
            (classid.parse().unwrap(), objid.parse().unwrap()),
            "{name}"
        );
        assert_eq!(Key::from_halves(computed.classid(), computed.objid()), computed, "{name}");
        assert_eq!(computed.to_string(), key);
        checked += 1;
    }
    assert!(checked >= 15);
}

#[test]
fn all_vectors_have_different_keys() {
    let keys: std::collections::HashSet<_> = vectors().map(|line| line[3]).collect();
    assert_eq!(keys.len(), vectors().count());
}

#[test]
fn the_halves_of_a_key_are_those_that_pg_locks_shows() {
    for key in [0, 1, -1, i64::MIN, i64::MAX, 0x1234_5678_9abc_def0] {
        let key = Key(key);
        assert_eq!(Key::from_halves(key.classid(), key.objid()), key);
    }
    assert_eq!((Key(-1).classid(), Key(-1).objid()), (u32::MAX, u32::MAX));
    assert_eq!((Key(1 << 32).classid(), Key(1 << 32).objid()), (1, 0));
}

#[test]
fn a_name_of_up_to_128_bytes_in_any_script_is_accepted() {
    for name in [
        "x",
        "order-sync",
        "order-sync:42",
        "ORDER SYNC",
        "정산-작업",
        "emoji-⏰",
        "naïve",
        "Hourhand",
        &"é".repeat(64),
    ] {
        let parsed = JobName::parse(name).unwrap();
        assert_eq!((parsed.as_str(), parsed.as_ref(), parsed.to_string().as_str()), (name, name, name));
        assert_eq!(name.parse::<JobName>().unwrap(), parsed);
    }
    assert!(Namespace::parse("staging").is_ok());
}

#[test]
fn a_name_in_another_form_is_refused_with_the_right_form() {
    let error = JobName::parse("nai\u{308}ve").unwrap_err();
    assert_eq!(error, NameError::NotComposed { name: "nai\u{308}ve".into(), right: "na\u{ef}ve".into() });
    let shown = error.to_string();
    assert!(shown.contains("nai\\u{308}ve") && shown.contains("na\\u{ef}ve") && shown.ends_with("naïve"), "{shown}");
    // Hangul typed as separate letters.
    let decomposed = "\u{1112}\u{1161}\u{11ab}";
    assert!(matches!(JobName::parse(decomposed), Err(NameError::NotComposed { right, .. }) if right == "한"));
    assert!(Namespace::parse(decomposed).is_err());
}

#[test]
fn a_name_that_breaks_a_rule_is_refused_with_that_rule() {
    let refusal = |name: &str| JobName::parse(name).unwrap_err().to_string();
    assert_eq!(refusal(""), "the name is empty: 1 to 128 bytes are right");
    assert!(refusal(&"a".repeat(129)).contains("129 bytes"));
    assert!(refusal(&"é".repeat(65)).contains("130 bytes"));
    assert_eq!(refusal("a\nb"), "the name \"a\\nb\" has the control character '\\n' at byte 1: leave it out");
    assert!(refusal("\u{1f}group:x").contains("control character"));
    assert!(refusal("nul\0").contains("control character"));
    assert!(refusal("\u{85}").contains("control character"));
    assert!(refusal("hourhand").contains("migrations"));
    for sign in ["\u{202e}", "\u{200f}", "\u{200b}", "\u{2066}", "\u{feff}", "\u{2028}"] {
        let shown = refusal(&format!("sync{sign}x"));
        assert!(shown.contains("at byte 4") && !shown.contains(sign), "{shown}");
    }
    assert!(refusal(" \u{3000}").contains("blank") && Namespace::parse(" ").is_err());
    let colon = Namespace::parse("a:b").unwrap_err().to_string();
    assert_eq!(colon, "the namespace \"a:b\" has a ':' at byte 1, which is what ends a namespace: leave it out");
}
