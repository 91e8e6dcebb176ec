//! What somebody meant who wrote something like it.

/// The one of `known` that is most like `word`, if it is like it at all.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let distances = known.iter().map(|other| (distance(word, other), *other));
    let (distance, other) = distances.min()?;
    // A third of a word may be wrong, and of a short one a letter or two that changed places.
    let most = word.chars().count().div_ceil(3);
    (distance <= most).then_some(other)
}

/// How many letters have to be put in, left out or changed. `-` and `_` are one letter.
fn distance(one: &str, other: &str) -> usize {
    let letters = |word: &str| -> Vec<char> {
        let word = word.to_lowercase().replace('-', "_");
        word.chars().collect()
    };
    let (one, other) = (letters(one), letters(other));
    // The row of Wagner and Fischer's table for the letters of `one` so far.
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, wanted) in other.iter().enumerate() {
            let change = diagonal + usize::from(letter != wanted);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_like_a_word_is_found_and_what_is_not_is_not() {
        let known = ["nodes", "max_ttl", "restart_guard"];
        for (word, meant) in [
            ("node", Some("nodes")),
            ("max-ttl", Some("max_ttl")),
            ("maxttl", Some("max_ttl")),
            ("restart_gaurd", Some("restart_guard")),
            ("NODES", Some("nodes")),
            ("timeout", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, &known), meant, "{word}");
        }
        assert_eq!(nearest("x", &[]), None);
    }
}
