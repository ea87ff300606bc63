//! 200,000 mistakes in a file cost no more memory than 20, beyond the memory of the file itself.
//!
//! A single test, because it counts the bytes in use in the whole process.

mod common;

use common::allocator::{Watching, watch};
use flowyard_sim::scenario::{self, Format, no_files};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: Watching = Watching;

const COUNT: usize = 200_000;
/// 200 problems with path, value and message, and what it takes to come to them.
const ROOM: usize = 1 << 20;

/// A scenario that is sound but for its topology or the members of its only traffic entry that are given.
fn scenario(part: &str, given: Value) -> String {
    let mut entry =
        json!({"name": "a", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "1KB"}});
    let mut document = json!({"topology": {"single-switch": {"hosts": 4}}, "transport": "ndp"});
    match part {
        "matrix" | "arrivals" | "sizes" => entry[part] = given,
        _ => document[part] = given,
    }
    document["traffic"] = json!([entry]);
    document.to_string()
}

/// So many wrong items in a list of [`COUNT`], the rest of the same length and right.
fn listed(wrong: usize, bad: &Value, good: &Value) -> Value {
    (0..COUNT).map(|index| if index < wrong { bad.clone() } else { good.clone() }).collect()
}

/// The most bytes in use while the text is read, and those that its problems hold; there are as many as are looked for.
fn refused(text: &str, wrong: usize) -> (usize, usize) {
    let (problems, most, held) =
        watch(|| scenario::read(text, Format::Json, &[], &no_files).expect_err("mistakes"));
    assert_eq!(problems.0.len(), wrong.min(200), "{problems}");
    (most, held)
}

#[test]
fn many_mistakes_take_no_more_memory_than_few() {
    // What is made once for all.
    let _ = scenario::read("{}", Format::Json, &[], &no_files);

    let pairs = |bad| move |wrong| scenario("matrix", json!({"pairs": listed(wrong, &bad, &json!([0, 1]))}));
    let cables = |bad| {
        move |wrong| {
            let cables = listed(wrong, &json!({"ends": ["a", bad]}), &json!({"ends": ["a", "s"]}));
            let switches = json!([{"name": "s", "tier": "t"}]);
            let explicit = json!({"hosts": ["a", "b"], "switches": switches, "cables": cables, "rate": "1Gbps", "delay": "1us"});
            scenario("topology", json!({"explicit": explicit}))
        }
    };
    let starts = |wrong| {
        let starts = listed(wrong, &json!("1xs"), &json!("1us"));
        scenario("arrivals", json!({"times": {"at": starts}}))
    };
    let kinds: [(&str, &dyn Fn(usize) -> String); 5] = [
        ("names that no host has", &pairs(json!([0, "b"]))),
        ("hosts that are not there", &pairs(json!([0, 9]))),
        ("cables to no node", &cables("x")),
        ("cables from a node to itself", &cables("a")),
        ("units that nobody knows", &starts),
    ];
    for (kind, text) in kinds {
        let (few, _) = refused(&text(20), 20);
        let (many, held) = refused(&text(COUNT), COUNT);
        assert!(many < few + ROOM, "{kind}: {many} bytes, and {few} with 20");
        assert!(held < ROOM, "{kind}: the problems hold {held} bytes");
    }

    // A file with 20 such keys is a small one: here the measure is its plain reading.
    let keys: Value = (0..COUNT).map(|index| (format!("key{index}"), json!(index))).collect();
    let text = scenario("run", keys);
    let (_, plain, _) = watch(|| drop(serde_json::from_str::<Value>(&text).expect("JSON")));
    let (many, held) = refused(&text, COUNT);
    assert!(many < plain + ROOM, "keys: {many} bytes, and {plain} for plain values");
    assert!(held < ROOM, "keys: the problems hold {held} bytes");

    // One mistake, of a part that is large: it is named, not kept.
    let points: Value = (1..=50_000).map(|index| json!([index, f64::from(index) / 500.0])).collect();
    let sizes = json!({"cdf": {"points": points, "file": "sizes.txt"}});
    let (_, held) = refused(&scenario("sizes", sizes), 1);
    assert!(held < ROOM, "a large part: its problem holds {held} bytes");
}
