//! The known name nearest to a misspelt one: for messages.

use std::fmt;

/// Words of the field, and the names that members have here.
const SYNONYMS: [(&str, &str); 16] = [
    ("ecmp", "per-flow"),
    ("spraying", "per-packet"),
    ("spray", "per-packet"),
    ("packet-spraying", "per-packet"),
    ("rps", "per-packet"),
    ("vlb", "valiant"),
    ("clos", "leaf-spine"),
    ("spine-leaf", "leaf-spine"),
    ("star", "single-switch"),
    ("torus", "camcube"),
    ("fifo", "drop-tail"),
    ("taildrop", "drop-tail"),
    ("pfc", "lossless"),
    ("rdma", "roce"),
    ("constant", "fixed"),
    ("shuffle", "all-to-all"),
];

/// The name that was probably meant: one that the field has another word for, one that the word abbreviates, or the one with
/// the fewest typing errors, if they are few.
pub fn closest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let word: String = plain(word).chars().take(80).collect();
    let meant: Vec<&str> =
        SYNONYMS.iter().filter(|(other, _)| plain(other) == word).map(|(_, name)| *name).collect();
    let errors = |name: &str| match () {
        () if meant.contains(&name) || abbreviates(&word, &plain(name)) => 0,
        () => strsim::damerau_levenshtein(&word, &plain(name)),
    };
    let (errors, name) =
        names.into_iter().map(|name| (errors(name), name)).min_by_key(|(errors, _)| *errors)?;
    (errors <= name.chars().count() / 3).then_some(name)
}

/// Whether several words with blanks between them are the first letters of those of a name: "pod 0 agg 1".
fn abbreviates(words: &str, name: &str) -> bool {
    let is_short = |word: &str, full: &str| {
        word.len() > 1 && !word.bytes().any(|byte| byte.is_ascii_digit()) && full.starts_with(word)
    };
    words.contains(' ')
        && words.split(' ').count() == name.split(' ').count()
        && words.split(' ').zip(name.split(' ')).all(|(word, full)| word == full || is_short(word, full))
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

    #[test]
    fn other_words_of_the_field_are_known() {
        assert_eq!(closest("ECMP", ["single", "per-flow", "per-packet"]), Some("per-flow"));
        assert_eq!(closest("packet_spraying", ["single", "per-flow", "per-packet"]), Some("per-packet"));
        assert_eq!(closest("ecmp", ["single", "permuted"]), None);
    }

    #[test]
    fn abbreviations_go_before_typing_errors() {
        let nodes = ["pod 0 edge 0", "pod 0 aggregation 1", "pod 0 aggregation 0", "core 0"];
        assert_eq!(closest("pod 0 agg 0", nodes), Some("pod 0 aggregation 0"));
        assert_eq!(closest("pod 0 egde 0", nodes), Some("pod 0 edge 0"));
    }
}
