//! Equal expressions share what was worked out of them: some 6 KiB each, and many jobs of one program have few schedules.
//!
//! A table of what is in use, no more: it changes no answer, only whether it is worked out again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::CronRule;
use crate::schedule::error::Fault;

/// The rules in use, by their text as it was given.
static IN_USE: Mutex<Option<Table>> = Mutex::new(None);

#[derive(Default)]
struct Table {
    rules: HashMap<String, Weak<CronRule>>,
    /// With so many entries those no longer in use are swept out.
    sweep_at: usize,
}

/// The rule of a text.
pub(crate) fn rule(text: &str) -> Result<Arc<CronRule>, Fault> {
    let found = |table: &Table| table.rules.get(text).and_then(Weak::upgrade);
    if let Some(rule) = IN_USE.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(found) {
        return Ok(rule);
    }
    let rule = Arc::new(CronRule::read(text)?);
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    let table = in_use.get_or_insert_default();
    if table.rules.len() >= table.sweep_at {
        table.rules.retain(|_, rule| rule.strong_count() > 0);
        table.sweep_at = 2 * table.rules.len() + 64;
    }
    table.rules.insert(text.to_owned(), Arc::downgrade(&rule));
    Ok(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_a_rule_for_as_long_as_it_is_in_use() {
        let one = rule("7 3 * * 2").expect("a rule");
        assert!(Arc::ptr_eq(&one, &rule("7 3 * * 2").expect("a rule")));
        let weak = Arc::downgrade(&one);
        drop(one);
        assert!(weak.upgrade().is_none(), "the table keeps it alive");
        for minute in 0..600 {
            rule(&format!("{} {} * * *", minute % 60, minute / 60)).expect("a rule");
        }
        let kept = IN_USE.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |table| table.rules.len());
        assert!(kept < 600, "{kept} entries of rules that nobody uses");
    }
}
