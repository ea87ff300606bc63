//! Which form of variants keeps the path of an error exact: why scenarios tag variants externally.
//!
//! `[transport.ndp]` is externally tagged: the name of the variant is a key. Internally tagged, it would be
//! `kind = "ndp"` among the settings, and serde would have to buffer the table until it has seen the tag.
//! Values read from the buffer have lost their place.

use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "only ever refused")]
struct Scenario<T> {
    transport: T,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "only ever refused")]
enum External {
    Ndp(Ndp),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
#[allow(dead_code, reason = "only ever refused")]
enum Internal {
    Ndp(Ndp),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only ever refused")]
struct Ndp {
    initial_window: u32,
}

/// The path at which reading fails.
fn path<T: DeserializeOwned + std::fmt::Debug>(toml: &str) -> String {
    let document: toml::Table = toml::from_str(toml).unwrap();
    let document = serde_json::to_value(document).unwrap();
    serde_path_to_error::deserialize::<_, Scenario<T>>(document).unwrap_err().path().to_string()
}

#[test]
fn external_tags_keep_the_path_of_a_wrong_value() {
    assert_eq!(path::<External>("[transport.ndp]\ninitial_window = 'x'"), "transport.ndp.initial_window");
}

#[test]
fn external_tags_keep_the_path_of_an_unknown_key() {
    assert_eq!(path::<External>("[transport.ndp]\ninitial_windw = 16"), "transport.ndp.initial_windw");
}

#[test]
fn internal_tags_lose_it() {
    assert_eq!(path::<Internal>("[transport]\nkind = 'ndp'\ninitial_window = 'x'"), "transport");
    assert_eq!(path::<Internal>("[transport]\nkind = 'ndp'\ninitial_windw = 16"), "transport");
}
