//! A scenario with a fault made small: whatever can go while the fault stays, goes.

use serde_json::{Value, json};

use super::judge::{Fault, Verdict, Way, judge};

/// Runs in search of a smaller scenario at the most.
const ATTEMPTS: u32 = 600;

/// A scenario in which the same fault shows, as small as was found, and the fault there.
pub fn reduce(document: &Value, fault: &Fault) -> (Value, Fault) {
    let ways = if fault.way == Way::Plain { vec![] } else { vec![fault.way] };
    let mut smallest = (document.clone(), fault.clone());
    let mut left = ATTEMPTS;
    let mut start = 0;
    while left > 0 {
        let candidates = smaller(&smallest.0);
        let mut found = false;
        for (index, candidate) in candidates.iter().enumerate().skip(start) {
            left = left.saturating_sub(1);
            if let Verdict::Wrong(same) = judge(candidate, &ways)
                && (same.way, same.kind) == (fault.way, fault.kind)
            {
                smallest = (candidate.clone(), same);
                (start, found) = (index, true);
                break;
            }
            if left == 0 {
                break;
            }
        }
        if !found {
            if start == 0 {
                break;
            }
            start = 0;
        }
    }
    smallest
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
