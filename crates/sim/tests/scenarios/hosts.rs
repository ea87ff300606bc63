//! Hosts by their names: as good as their numbers, in every field that takes one.

use flowyard_sim::scenario::{Format, Scenario, no_files, read};

/// Four servers at a switch.
const NETWORK: &str = r#"
transport = "ndp"
[topology.explicit]
hosts = ["srv1", "srv2", "srv3", "srv4"]
switches = [{ name = "rack" }]
cables = [{ ends = ["srv1", "rack"] }, { ends = ["srv2", "rack"] }, { ends = ["srv3", "rack"] }, { ends = ["srv4", "rack"] }]
"#;

fn entry(fields: &str) -> String {
    format!(
        "{NETWORK}\n[[traffic]]\nname = \"flows\"\narrivals = \"at-once\"\nsizes.fixed = \"1KB\"\n{fields}\n"
    )
}

fn good(text: &str, overrides: &[(String, String)]) -> Scenario {
    read(text, Format::Toml, overrides, &no_files).unwrap_or_else(|problems| panic!("{problems}"))
}

fn said(fields: &str) -> String {
    read(&entry(fields), Format::Toml, &[], &no_files).expect_err("a mistake").to_string()
}

#[test]
fn names_are_as_good_as_numbers() {
    for (named, numbered) in [
        (r#"matrix.pairs = [["srv1", "srv4"], [1, "srv3"]]"#, "matrix.pairs = [[0, 3], [1, 2]]"),
        (
            r#"matrix.incast = { senders = 2, receiver = "srv4" }"#,
            "matrix.incast = { senders = 2, receiver = 3 }",
        ),
        (
            "matrix = \"uniform\"\nsources.hosts = [\"srv2\", \"srv1\"]",
            "matrix = \"uniform\"\nsources.hosts = [1, 0]",
        ),
    ] {
        assert_eq!(good(&entry(named), &[]), good(&entry(numbered), &[]), "{named}");
    }
}

#[test]
fn built_in_networks_and_overrides_have_names_too() {
    let text = "topology = \"leaf-spine\"\ntransport = \"ndp\"\n[[traffic]]\nname = \"flows\"\narrivals = \"at-once\"\n\
                sizes.fixed = \"1KB\"\nmatrix.pairs = [[\"host 9\", \"host 2\"]]\n";
    assert_eq!(good(text, &[]), good(&text.replace("\"host 9\", \"host 2\"", "9, 2"), &[]));
    let set = [("traffic.flows.matrix.pairs".to_string(), r#"[["host 3", 1]]"#.to_string())];
    assert_eq!(good(text, &set), good(&text.replace("\"host 9\", \"host 2\"", "3, 1"), &[]));
}

#[test]
fn unknown_names_get_a_suggestion() {
    assert_eq!(
        said(r#"matrix.pairs = [["srv1", "srv44"], ["rack", "3"], ["elsewhere", 7]]"#),
        "traffic.flows.matrix.pairs.0.1: \"srv44\" is no host of this network; did you mean \"srv4\"?\n\
         traffic.flows.matrix.pairs.1.0: \"rack\" is a switch; flows are between hosts\n\
         traffic.flows.matrix.pairs.1.1: \"3\" is no host of this network; write 3, without quotes\n\
         traffic.flows.matrix.pairs.2.0: \"elsewhere\" is no host of this network; hosts are 0 to 3, or \"srv1\" and so on"
    );
    assert_eq!(
        said(r#"matrix.incast = { senders = 2, receiver = "rnd" }"#),
        "traffic.flows.matrix.incast.receiver: \"rnd\" is no host of this network; hosts are 0 to 3, or \"srv1\" and so on"
    );
    assert_eq!(
        said("matrix.pairs = [[true, 1]]"),
        "traffic.flows.matrix.pairs.0.0: true is a truth value; use the number or the name of a host"
    );
}

/// In a network of mistakes names are not looked up, and its own problems are what is said.
#[test]
fn a_network_that_cannot_be_built_hides_names() {
    let text =
        entry(r#"matrix.pairs = [["srv1", "srv9"]]"#).replace("\"srv4\", \"rack\"", "\"srv4\", \"rock\"");
    let problems = read(&text, Format::Toml, &[], &no_files).expect_err("a mistake").to_string();
    assert!(problems.contains("rock") && !problems.contains("srv9"), "{problems}");
}
