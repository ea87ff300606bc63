//! The refusal of YAML, which is read nowhere: in its own words, with the first line as TOML has it.

use serde_json::json;

use crate::problem::Problem;

/// Why a text that is no TOML is refused, if it looks like YAML.
pub(super) fn refusal(text: &str) -> Option<Problem> {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut lines = text.lines().map(str::trim_end).filter(is_said);
    let mut first = lines.next()?;
    let marked = first == "---" || first.starts_with("%YAML");
    while first == "---" || first.starts_with("%YAML") {
        first = lines.next()?;
    }
    let parted = first.split_once(':').filter(|(key, rest)| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        !key.is_empty() && key.chars().all(is_plain) && (rest.is_empty() || rest.starts_with(' '))
    });
    if parted.is_none() && !marked && !first.starts_with("- ") {
        return None;
    }
    let hint = parted.and_then(|(key, value)| translated(key, value.trim(), lines.next().unwrap_or("")));
    let number = text.lines().position(|line| line.trim_end() == first)? + 1;
    let message = format!(
        "line {number}: this looks like YAML, and scenarios are TOML (or JSON, in a file that ends in .json)"
    );
    Some(Problem::new("", message).with_hint(hint.map(|toml| format!("{first} is {toml}"))))
}

/// A line as TOML has it, if it is a simple one; `next` is the line below it.
fn translated(key: &str, value: &str, next: &str) -> Option<String> {
    let value = value.split(" #").next().unwrap_or("").trim_end();
    if value.is_empty() {
        let below = next.trim_start();
        let is_list = below.starts_with("- ") || below == "-";
        return (is_list || below.len() < next.len()).then(|| match is_list {
            true => format!("[[{key}]], before each item"),
            false => format!("[{key}]"),
        });
    }
    if value.starts_with(['{', '[', '&', '*', '!', '|', '>', '\'']) {
        return None;
    }
    let bare = matches!(value, "true" | "false")
        || value.starts_with('"')
        || value.parse::<f64>().is_ok_and(f64::is_finite);
    Some(if bare { format!("{key} = {value}") } else { format!("{key} = {}", json!(value)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        refusal(text).map(|problem| problem.to_string())
    }

    #[test]
    fn the_first_line_is_translated_if_it_is_simple() {
        let looks = "this looks like YAML, and scenarios are TOML (or JSON, in a file that ends in .json)";
        for (text, number, hint) in [
            ("name: my run\ntopology:\n", 1, "; name: my run is name = \"my run\""),
            ("# mine\n\nk: 8 # ports\n", 3, "; k: 8 # ports is k = 8"),
            ("rate: \"10Gbps\"\n", 1, "; rate: \"10Gbps\" is rate = \"10Gbps\""),
            ("---\ntopology:\n  fat-tree:\n    k: 8\n", 2, "; topology: is [topology]"),
            ("traffic:\n  - name: a\n", 1, "; traffic: is [[traffic]], before each item"),
            ("traffic:\n- name: a\n", 1, "; traffic: is [[traffic]], before each item"),
            ("topology: {fat-tree: {k: 8}}\n", 1, ""),
            ("- name: a\n", 1, ""),
        ] {
            assert_eq!(said(text), Some(format!("line {number}: {looks}{hint}")), "{text}");
        }
    }

    #[test]
    fn mistakes_in_toml_are_not_taken_for_yaml() {
        for text in ["name = \"a: b\"\nk = \n", "[topology\n", "", "name demo\n", "a:b\n", "http://x: 1\n"] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
