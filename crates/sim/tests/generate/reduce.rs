//! A scenario with a fault made small: whatever can go while the fault stays, goes.

use serde_json::{Value, json};

use super::judge::{Fault, Verdict, Way, judge};

/// Runs in search of a smaller scenario at the most.
const ATTEMPTS: usize = 600;

/// A scenario in which the same fault shows, as small as was found, and the fault there.
pub fn reduce(document: &Value, fault: &Fault) -> (Value, Fault) {
    let ways = if fault.way == Way::Plain { vec![] } else { vec![fault.way] };
    let same = |candidate: &Value| match judge(candidate, &ways) {
        Verdict::Wrong(found) if (found.way, found.kind) == (fault.way, fault.kind) => Some(found),
        _ => None,
    };
    smallest(document.clone(), same).unwrap_or_else(|document| (document, fault.clone()))
}

/// The smallest document found in which something shows, and what is shown of it there; or the document as it is.
fn smallest<T>(document: Value, shows: impl Fn(&Value) -> Option<T>) -> Result<(Value, T), Value> {
    let (mut smallest, mut last) = (document, None);
    let (mut left, mut start) = (ATTEMPTS, 0);
    loop {
        // What has not helped before comes again once the rest has been tried.
        let candidates = smaller(&smallest).into_iter().enumerate().skip(start).take(left);
        let mut tried = candidates.map(|(index, candidate)| (index, shows(&candidate), candidate));
        let mut count = 0;
        let found = tried.by_ref().inspect(|_| count += 1).find(|(_, shown, _)| shown.is_some());
        left -= count;
        match found {
            Some((index, shown, candidate)) => (smallest, last, start) = (candidate, shown, index),
            None if start == 0 || left == 0 => break,
            None => start = 0,
        }
    }
    match last {
        Some(last) => Ok((smallest, last)),
        None => Err(smallest),
    }
}

/// The document with one change each: without a part, from the largest to the smallest, or with a simpler value.
fn smaller(document: &Value) -> Vec<Value> {
    let mut places = Vec::new();
    collect(document, String::new(), &mut places);
    places.sort_by_key(|(pointer, size)| (std::cmp::Reverse(*size), pointer.len()));
    let without = places.iter().filter_map(|(pointer, _)| without(document, pointer));
    let simpler = places.iter().flat_map(|(pointer, _)| {
        let value = document.pointer(pointer).expect("a place in it");
        simpler(value).into_iter().map(|value| {
            let mut document = document.clone();
            *document.pointer_mut(pointer).expect("a place in it") = value;
            document
        })
    });
    without.chain(simpler).collect()
}

/// Every place of a document, with the length of what is there.
fn collect(value: &Value, pointer: String, places: &mut Vec<(String, usize)>) {
    if !pointer.is_empty() {
        places.push((pointer.clone(), value.to_string().len()));
    }
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, below)| collect(below, format!("{pointer}/{key}"), places));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| collect(item, format!("{pointer}/{at}"), places));
        }
        _ => {}
    }
}

/// The document without what is at a place.
fn without(document: &Value, pointer: &str) -> Option<Value> {
    let (above, key) = pointer.rsplit_once('/')?;
    let mut document = document.clone();
    match document.pointer_mut(above)? {
        Value::Object(map) => drop(map.shift_remove(key)?),
        Value::Array(items) => drop(items.remove(key.parse().ok()?)),
        _ => return None,
    }
    Some(document)
}

/// Simpler values than that one.
fn simpler(value: &Value) -> Vec<Value> {
    match value {
        // The bare name of a member.
        Value::Object(map) if map.len() == 1 => map.keys().map(|name| json!(name)).collect(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) if whole > 1 => vec![json!(1), json!(whole / 2), json!(whole - 1)],
            (None, Some(float)) if float.to_string().len() > 3 => {
                vec![json!(1), json!((float * 10.0).round() / 10.0)]
            }
            _ => Vec::new(),
        },
        Value::String(text) => {
            let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            let unit = &text[number.len()..];
            match number.parse::<f64>() {
                Ok(number) if number > 1.0 && !unit.is_empty() => vec![
                    json!(format!("1{unit}")),
                    json!(format!("{}{unit}", (number / 2.0).round())),
                    json!(format!("{}{unit}", number.round())),
                ],
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
    .into_iter()
    .filter(|simpler| simpler != value)
    .collect()
}

#[test]
fn what_does_not_matter_goes() {
    let document = json!({
        "topology": { "fat-tree": { "k": 8, "rate": "3Gbps" } },
        "traffic": [{ "name": "a", "deadline": "70us" }, { "name": "b", "flows": 9 }],
        "run": { "seed": 7 },
    });
    let shows = |candidate: &Value| {
        let entries = candidate["traffic"].as_array()?;
        let flows = entries.iter().find_map(|entry| entry["flows"].as_u64())?;
        (flows >= 5 && candidate.get("topology").is_some()).then_some(flows)
    };
    let (small, flows) = smallest(document, shows).expect("it shows at first");
    assert_eq!(small, json!({ "topology": {}, "traffic": [{ "flows": 5 }] }));
    assert_eq!(flows, 5);
}
