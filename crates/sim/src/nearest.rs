//! The known name nearest to a misspelt one: for messages.

use std::fmt;

/// The name that was probably meant: the one with the fewest typing errors, if they are few.
pub fn closest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let word: String = plain(word).chars().take(80).collect();
    let distance = |name: &str| strsim::damerau_levenshtein(&word, &plain(name));
    let (errors, name) =
        names.into_iter().map(|name| (distance(name), name)).min_by_key(|(errors, _)| *errors)?;
    (errors <= name.chars().count() / 3).then_some(name)
}

/// "did you mean ...?"
pub fn did_you_mean(name: impl fmt::Display) -> String {
    format!("did you mean \"{name}\"?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_careful() {
        assert_eq!(closest("initial_windw", ["mtu", "initial_window"]), Some("initial_window"));
        assert_eq!(closest("Initial-Window", ["mtu", "initial_window"]), Some("initial_window"));
        assert_eq!(closest("k", ["rate", "s"]), None);
    }
}
