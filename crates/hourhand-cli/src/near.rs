//! What somebody may have meant who wrote a name that is not there.

/// The nearest of the known names, if it is a slip of a letter or two away.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = if name.chars().count() < 5 { 1 } else { 2 };
    let wanted = name.to_lowercase().replace('-', "_");
    let slips = |known: &str| strsim::damerau_levenshtein(&known.to_lowercase().replace('-', "_"), &wanted);
    let near = known.into_iter().map(|known| (slips(known), known)).filter(|(slips, _)| *slips <= allowed);
    near.min_by_key(|(slips, _)| *slips).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_a_letter_or_two_is_recognised_and_another_word_is_not() {
        let known = ["timeout", "time_zone", "ttl"];
        assert_eq!(nearest("timout", known), Some("timeout"));
        assert_eq!(nearest("time-zone", known), Some("time_zone"));
        assert_eq!(nearest("TTL", known), Some("ttl"));
        assert_eq!(nearest("shutdown", known), None);
        assert_eq!(nearest("tl", known), Some("ttl"));
    }
}
