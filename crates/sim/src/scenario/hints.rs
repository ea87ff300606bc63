//! The text to write in place of a wrong value: for messages of the walk through a scenario.

use serde_json::{Value, json};

use super::schema::{choice, present, types};
use crate::problem::{join, show};

/// Endings of files that have flows, networks or sizes.
const FILES: &[&str] = &[
    "csv", "tsv", "txt", "dat", "json", "jsonl", "graphml", "gml", "xml", "dot", "gv", "cm", "topo", "tm",
    "traffic", "parquet", "xlsx", "yaml", "yml", "flow", "trace",
];

/// Longer texts are no names of files.
const NAME_MOST: usize = 100;

/// Words of other tools for which there is no key or member here: the table, or the choice, in which they stand (the end of
/// its path), and the way to the same.
const FOREIGN: &[(&str, &[&str], &str)] = &[
    (
        "queue.ecn",
        &["kmin", "kmax", "pmax", "min-threshold", "max-threshold"],
        "marks between two thresholds are queue.red = { ecn = true, min_threshold = ..., max_threshold = ... }, and kmin and \
         kmax of queue.lossless",
    ),
    (
        "queue.lossless",
        &["pfc", "pause", "pauses"],
        "a lossless queue always pauses; xoff and xon are its thresholds",
    ),
    ("buffer", &["shared", "shared-memory", "size"], "write buffer = { dynamic = { size = \"...\" } }"),
    (
        "poisson",
        &["mean", "interval", "interarrival", "mean-interarrival"],
        "write rate, arrivals a second, in place of the mean time between them",
    ),
    (
        "tcp.congestion",
        &["hpcc", "powertcp", "timely", "dcqcn"],
        "RDMA has this control: write transport = { roce = { congestion = \"...\" } }",
    ),
    (
        "roce.congestion",
        &["none", "off", "no", "pfc", "pfc-only"],
        "without a control flows are sent at the rate of the port: write \"line-rate\"",
    ),
    (
        "leaf-spine",
        &["uplink", "uplinks", "uplink-rate", "uplinks-rate", "core-rate", "fabric-rate"],
        "cables between leaves and spines are spine = { rate = \"...\" }",
    ),
    (
        "topology",
        &["links", "edges", "cables", "nodes", "graph", "custom"],
        "a network of one's own is topology.explicit = { hosts = [\"a\", \"b\"], cables = [{ ends = [\"a\", \"b\"] }] }; \
         flowyard import reads one from a file",
    ),
    ("balancer", &["reps"], "REPS is a field of a transport: write transport.uet.entropy = \"reps\""),
    (
        "matrix",
        &["ring", "all-reduce", "allreduce", "ring-all-reduce", "ring-allreduce", "collective"],
        "a collective is written as entries that wait for each other: docs/how-to/own-workload.md",
    ),
];

/// The way to the same, of a word of another tool at that path.
pub fn foreign(path: &str, word: &str) -> Option<String> {
    let word = word.to_lowercase().replace('_', "-");
    let here =
        |place: &str| path.strip_suffix(place).is_some_and(|above| above.is_empty() || above.ends_with('.'));
    let found = FOREIGN.iter().find(|(place, words, _)| here(place) && words.contains(&&*word));
    found.map(|(.., way)| way.to_string())
}

/// The setting of a variant that is a number, if a text is that number and the name of the variant: "65 packets".
pub fn counted(names: &[&str], text: &str) -> Option<String> {
    let (number, name) = text.trim().split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let name = name.trim().to_lowercase().replace([' ', '_'], "-");
    let known = names.iter().find(|known| **known == name || known.strip_suffix('s') == Some(&name))?;
    Some(format!("write {{ {known} = {number} }}"))
}

/// Setting to write instead.
pub fn write(path: &str, name: &str) -> String {
    format!("write {path} = \"{name}\"")
}

/// A table of tables with the name at the end of their path, as TOML has it in a line.
pub fn nested(path: &str, name: &str) -> String {
    path.rsplit('.').fold(format!("\"{name}\""), |inner, step| format!("{{ {step} = {inner} }}"))
}

/// How a file is named in a table that may say which, if a text in the table's place can be meant so.
pub fn names_file(schema: &Value, name: &str) -> Option<String> {
    let file = schema.get("properties")?.get("file")?;
    (types(file).contains(&"string") && name.len() <= NAME_MOST)
        .then(|| format!("write {{ file = {} }}", json!(name)))
}

/// The way from a file to a part of a scenario, if a text at that path, which is no value there, names one: a network or
/// flows are imported, sizes are read.
pub fn of_file(path: &str, value: &Value) -> Option<String> {
    let name = value.as_str().filter(|name| name.len() <= NAME_MOST)?;
    let (stem, ending) = name.rsplit_once('.')?;
    if stem.is_empty() || !FILES.contains(&&*ending.to_lowercase()) {
        return None;
    }
    let mut steps = path.split('.');
    match (steps.next()?, steps.next_back()) {
        ("topology", _) => {
            Some(format!("flowyard import {name} -o NETWORK.toml writes the network of a file"))
        }
        ("traffic", Some("sizes")) => Some(format!("write {{ cdf = {{ file = {} }} }}", json!(name))),
        ("traffic", _) => Some(format!("flowyard import {name} -o SCENARIO.toml writes the flows of a file")),
        _ => None,
    }
}

/// How a traffic entry is left out, if a number of that field would leave it without flows.
pub fn leave_out(path: &str, value: &Value) -> Option<String> {
    let steps: Vec<&str> = path.split('.').collect();
    let ["traffic", entry, .., field] = steps[..] else { return None };
    (matches!(field, "load" | "rate" | "flows" | "rounds") && value.as_f64() == Some(0.0))
        .then(|| format!("--set traffic.{entry}=null leaves the entry out"))
}

/// The field for numbers of flows, if a number stands where names of traffic entries are due.
pub fn of_flow(path: &str, value: &Value) -> Option<String> {
    let number = value.as_u64()?;
    path.starts_with("observe.events.flows").then(|| format!("write observe.events.numbers = [{number}]"))
}

/// The share that a percentage is, where a number is allowed.
pub fn percent(schema: &Value, text: &str) -> Option<String> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    types(schema).contains(&"number").then(|| format!("write {}", percent / 100.0))
}

/// How a list of tables is written, if it stands at the top, where TOML has a way of its own for it.
pub fn begin_items(schema: &Value, path: &str) -> Option<String> {
    let of_tables = schema.get("items").is_some_and(|items| items.get("$ref").is_some());
    (of_tables && !path.contains('.')).then(|| format!("in TOML each item begins with [[{path}]]"))
}

/// The list below a table for which a list in the table's place was meant: of several the one whose items have most of the
/// keys of the first.
pub fn list_below(root: &Value, schema: &Value, path: &str, items: &[Value]) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    let first = items.first()?;
    let known = |item: &Value| {
        let own = item.get("properties").and_then(Value::as_object);
        let keys = first.as_object().into_iter().flat_map(|first| first.keys());
        keys.filter(|key| own.is_some_and(|own| own.contains_key(*key))).count()
    };
    let lists = properties.iter().filter_map(|(key, member)| {
        let member = present(root, member);
        let item = member.get("items").filter(|_| types(member).contains(&"array"))?;
        Some((key, present(root, item)))
    });
    let lists: Vec<_> =
        lists.filter(|(_, item)| types(item).contains(&"object") == first.is_object()).collect();
    // max_by_key takes the last of equals: from behind, the first of the schema.
    let (key, _) = lists.into_iter().rev().max_by_key(|(_, item)| known(item))?;
    match first {
        Value::Object(_) => Some(format!("in TOML each item begins with [[{}]]", join(path, key))),
        _ => Some(format!("write {{ {key} = {} }}", show(&items.into()))),
    }
}

/// The field in a table below of which a key is the whole path with another joint: spine_rate is spine.rate.
pub fn below_joint(root: &Value, schema: &Value, key: &str) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    let joints = key.char_indices().filter(|(_, letter)| matches!(letter, '_' | '-'));
    joints.map(|(at, _)| (&key[..at], &key[at + 1..])).find_map(|(table, field)| {
        let member = present(root, properties.get(table)?);
        let has =
            member.get("properties").and_then(Value::as_object).is_some_and(|own| own.contains_key(field));
        let chooses = || choice(member).is_some_and(|choice| choice.names().contains(&field));
        (has || chooses()).then(|| join(table, field))
    })
}

/// How a class of one's own is chosen in a list that takes such, if a name that no member has looks like that of a class.
pub fn own_class(names: &[&str], path: &str, name: &str) -> Option<String> {
    let mut letters = name.chars();
    let is_class = letters.next().is_some_and(|first| first.is_ascii_uppercase())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_class && name.len() <= NAME_MOST && names.contains(&"python"))
        .then(|| format!("a class of --prototype is {path}.python = {{ name = \"{name}\" }}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_tools() {
        let of = |path, word| foreign(path, word).is_some();
        assert!(of("queue.ecn", "kmin") && of("queue.ecn", "Min_Threshold"));
        assert!(of("topology.leaf-spine", "uplink_rate"));
        assert!(of("traffic.web.matrix", "ring") && of("matrix", "AllReduce"));
        assert!(
            !of("queue.red", "kmin") && !of("queue.lossless", "kmin") && !of("traffic.my-matrix", "ring")
        );
    }

    #[test]
    fn an_entry_without_flows_is_left_out() {
        let of = |path, value| leave_out(path, &value).unwrap_or_default();
        let out = "--set traffic.web=null leaves the entry out";
        assert_eq!(of("traffic.web.arrivals.poisson.load", json!(0)), out);
        assert_eq!(of("traffic.web.flows", json!(0)), out);
        assert_eq!(
            [
                of("traffic.web.flows", json!(-1)),
                of("traffic.web.priority", json!(0)),
                of("run.flows", json!(0))
            ],
            [""; 3]
        );
    }

    #[test]
    fn a_number_and_the_name_of_its_unit() {
        let of = |text| counted(&["packets", "bytes", "full-packets"], text).unwrap_or_default();
        assert_eq!(of("65 packets"), "write { packets = 65 }");
        assert_eq!(of("65 Full packets"), "write { full-packets = 65 }");
        assert_eq!(of("1 packet"), "write { packets = 1 }");
        assert_eq!([of("65"), of("65 KB"), of("a few packets"), of("-1 packets")], [""; 4]);
    }

    #[test]
    fn files_are_imported_or_read() {
        let of = |path, name| of_file(path, &json!(name)).unwrap_or_default();
        assert_eq!(
            of("topology", "links.csv"),
            "flowyard import links.csv -o NETWORK.toml writes the network of a file"
        );
        assert_eq!(
            of("topology.file", "a/fabric.graphml"),
            "flowyard import a/fabric.graphml -o NETWORK.toml writes the network of a file"
        );
        assert_eq!(
            of("traffic.0.file", "flows.CSV"),
            "flowyard import flows.CSV -o SCENARIO.toml writes the flows of a file"
        );
        assert_eq!(of("traffic.web.sizes", "mine.txt"), "write { cdf = { file = \"mine.txt\" } }");
        assert_eq!(
            [of("topology", "fat-tree"), of("topology", ".csv"), of("run.until", "a.csv")],
            ["", "", ""]
        );
    }
}
