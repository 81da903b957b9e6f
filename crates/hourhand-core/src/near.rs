//! What was probably meant by a mistyped name.

/// What is longer is no typing error, and the distance would cost its square.
const CHARS_MAX: usize = 128;
/// So many guesses are a help; more would be a list.
const GUESSES_MAX: usize = 3;

/// The names near to `typed`, the nearest first: the same letters but for case, `-`, `_` and spaces, or at most a third of them
/// mistyped, or one that contains the other.
///
/// ```
/// use hourhand_core::near::near;
///
/// assert_eq!(near("ordersync", ["reindex", "order-sync"]), ["order-sync"]);
/// ```
#[must_use]
pub fn near<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' ', '.', ':'], "");
    let wanted = plain(typed);
    let length = wanted.chars().count();
    if length == 0 || length > CHARS_MAX {
        return Vec::new();
    }
    let mut found: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let other = plain(name);
        if other.chars().count() > CHARS_MAX {
            continue;
        }
        let contained = length >= 3 && (other.contains(&wanted) || (other.len() >= 3 && wanted.contains(&other)));
        let distance = distance(&wanted, &other);
        if contained || distance * 3 <= length {
            found.push((distance, name));
        }
    }
    found.sort_unstable();
    found.into_iter().take(GUESSES_MAX).map(|(_, name)| name).collect()
}

/// How many letters have to be put in, left out, changed or swapped with the next one to get from one word to the
/// other (Damerau and Levenshtein).
#[must_use]
pub fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for (y, letter) in from.iter().enumerate() {
        let mut row = vec![y + 1];
        for (x, other) in to.iter().enumerate() {
            let changed = rows[y][x] + usize::from(letter != other);
            let mut least = changed.min(rows[y][x + 1] + 1).min(row[x] + 1);
            if y > 0 && x > 0 && *letter == to[x - 1] && from[y - 1] == *other {
                least = least.min(rows[y - 1][x - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_job_leads_to_the_ones_that_may_be_meant() {
        let jobs = ["order-sync", "order-sync-eu", "reindex", "cleanup"];
        assert_eq!(near("order_sync", jobs), ["order-sync", "order-sync-eu"]);
        assert_eq!(near("reidnex", jobs), ["reindex"]);
        assert_eq!(near("ORDER", jobs), ["order-sync", "order-sync-eu"]);
        assert!(near("billing", jobs).is_empty());
        assert!(near("", jobs).is_empty());
        assert!(near(&"x".repeat(100_000), jobs).is_empty());
    }
}
