//! Shared parts of fuzzing: documents made by a schema.

#![allow(dead_code, reason = "each test file uses a part of it")]

use flowyard_sim::random::{Purpose, Stream};
use flowyard_sim::units::{Bytes, Quantity, Rate, Time, parse, print};
use serde_json::{Value, json};

/// Values that fit nowhere, or only just.
#[rustfmt::skip]
pub const NASTY: &[&str] = &[
    "0", "-1", "1", "-0.0", "1e308", "-1e308", "1e-320", "0.1", "9223372036854775807", "-9223372036854775808",
    "18446744073709551615", "18446744073709551616", "1e400", "null", "true", "[]", "[[]]", "{}", "[{}]",
    "{\"a\": {\"b\": []}}", "\"\"", "\" \"", "\"NaN\"", "\"inf\"", "\"0s\"", "\"1ps\"", "\"1000000s\"",
    "\"18446744s\"", "\"18446745s\"", "\"1000GB\"", "\"0B\"", "\"1B\"", "\"1bps\"", "\"1000000Tbps\"", "\"-5us\"",
    "\"1.5ps\"", "\"5 us\"", "\"1e3us\"", "\"..s\"", "\"99999999999999999999999999999999999999B\"", "\"tcp\"",
    "\"ndp\"", "\"uniform\"", "\"\u{e9}\u{1f980}\"", "\"a\\nb\\u0000\"", "\"host 0\"", "[0, 1]", "[[0, 0]]",
    "[[0, 1], [1, 0]]", "[1e308, -1]", "{\"fixed\": \"1B\"}", "{\"tcp\": {}, \"ndp\": {}}", "\"../../etc/passwd\"",
];

/// Constraints on a value, where the schema does not say it all: a name of something else in the document, say.
pub trait Taste {
    /// A value for a place: a definition of the schema, as "Pairs", or a field of one, as "Incast.receiver".
    fn value(&self, place: &str, draw: &mut Draw) -> Option<Value>;
}

/// Values by a schema: small ones mostly, the ends of what is allowed now and then.
pub struct Draw<'a> {
    root: &'a Value,
    stream: Stream,
    depth: u32,
    /// Values of moderate size, for scenarios that are to be run; without one, the ends of ranges are drawn as well.
    taste: Option<&'a dyn Taste>,
    /// The definition whose fields are drawn, and the field.
    definition: &'a str,
    field: Option<&'a str>,
    /// Names that a choice prefers.
    preferred: Vec<String>,
}

impl<'a> Draw<'a> {
    /// From a schema of a whole document, with a random stream from a seed.
    pub fn new(root: &'a Value, seed: u64) -> Draw<'a> {
        let stream = Stream::new(seed, 0, Purpose::Faults, 0);
        Draw { root, stream, depth: 0, taste: None, definition: "", field: None, preferred: Vec::new() }
    }

    /// The same, by that taste.
    pub fn with_taste(root: &'a Value, seed: u64, taste: &'a dyn Taste) -> Draw<'a> {
        Draw { taste: Some(taste), ..Draw::new(root, seed) }
    }

    /// A number below that one.
    pub fn below(&mut self, n: usize) -> usize {
        self.stream.below(n as u64) as usize
    }

    /// One of the items, of which there is one at least.
    pub fn one_of<'b, T>(&mut self, items: &'b [T]) -> &'b T {
        &items[self.below(items.len())]
    }

    /// A value at a place whose definition and field are known, in which choices prefer these names.
    pub fn value_at(&mut self, place: &Place<'a>, preferred: Vec<String>) -> Value {
        (self.definition, self.field) = (place.definition, place.field);
        self.preferred = preferred;
        let value = self.value(place.schema);
        self.preferred.clear();
        value
    }

    /// A value that the schema allows, as far as it says so.
    pub fn value(&mut self, schema: &'a Value) -> Value {
        let outer = (self.definition, self.field);
        let field = outer.1.map(|field| format!("{}.{field}", outer.0));
        if let Some(name) = definition(schema) {
            (self.definition, self.field) = (name, None);
        }
        self.depth += 1;
        let tasted = self.taste.and_then(|taste| {
            let place = field.as_ref().and_then(|place| taste.value(place, self));
            place.or_else(|| taste.value(self.definition, self).filter(|_| self.field.is_none()))
        });
        let value = tasted.unwrap_or_else(|| self.of(resolve(self.root, schema)));
        self.depth -= 1;
        (self.definition, self.field) = outer;
        value
    }

    fn of(&mut self, schema: &'a Value) -> Value {
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        for key in ["enum", "oneOf", "anyOf"] {
            if let Some(members) = schema.get(key).and_then(Value::as_array) {
                let preferred = |member: &&Value| {
                    self.preferred.iter().any(|name| member["properties"].get(name).is_some())
                };
                let liked = members.iter().find(preferred);
                let member = match liked {
                    Some(liked) if self.below(2) == 0 => liked,
                    _ => self.one_of(members),
                };
                return if key == "enum" { member.clone() } else { self.value(member) };
            }
        }
        let types = types(schema);
        match *self.one_of(&types) {
            "null" => Value::Null,
            "boolean" => json!(self.below(2) == 1),
            "integer" => self.integer(schema),
            "number" => self.number(schema),
            "array" => self.array(schema),
            "object" => self.object(schema),
            _ => self.text(schema),
        }
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let end = |key: &str, usual: u64| schema.get(key).and_then(Value::as_u64).unwrap_or(usual);
        let (low, high) = (end("minimum", 0), end("maximum", u64::from(u32::MAX)));
        let step = end("multipleOf", 1);
        let any = match self.below(20) {
            0..2 if self.taste.is_some() => low + self.stream.below(40).min(high - low),
            0 => high,
            1 => low + self.stream.below(high.saturating_sub(low).saturating_add(1).max(1)),
            _ => low + self.stream.below(9).min(high - low),
        };
        json!(any - any % step)
    }

    fn number(&mut self, schema: &Value) -> Value {
        let end =
            |keys: [&str; 2], usual| keys.iter().find_map(|key| schema.get(key)?.as_f64()).unwrap_or(usual);
        let (low, high) =
            (end(["minimum", "exclusiveMinimum"], 0.0), end(["maximum", "exclusiveMaximum"], 1e6));
        match self.below(10) {
            0 => json!(low),
            1 if self.taste.is_none() => json!(high),
            2 => json!(low + (high - low) * self.stream.unit()),
            _ => json!((low + self.stream.unit() * 2.0).min(high)),
        }
    }

    fn array(&mut self, schema: &'a Value) -> Value {
        let length = |key: &str| schema.get(key).and_then(Value::as_u64);
        let low = length("minItems").unwrap_or(0);
        let high = length("maxItems").unwrap_or(low + 3).min(low + 3);
        let count = low + self.stream.below(high - low + 1);
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let items =
            |index: u64| first.get(index as usize).or(schema.get("items").filter(|items| items.is_object()));
        (0..count).filter_map(|index| Some(self.value(items(index)?))).collect()
    }

    fn object(&mut self, schema: &'a Value) -> Value {
        let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut object = serde_json::Map::new();
        for (name, member) in properties.into_iter().flatten() {
            if required.contains(&json!(name)) || (self.depth < 12 && self.below(3) == 0) {
                self.field = Some(name);
                object.insert(name.clone(), self.value(member));
                self.field = None;
            }
        }
        object.into()
    }

    fn text(&mut self, schema: &Value) -> Value {
        let names = ["flows", "few", "others", "host 0", "host 1", "a", "switch", "core", "edge-host"];
        match schema.get("format").and_then(Value::as_str) {
            Some("time-span") => self.quantity::<Time>(schema, 1_000_000),
            Some("bytes") if self.taste.is_some() => self.quantity::<Bytes>(schema, 50),
            Some("bytes") => self.quantity::<Bytes>(schema, 1_000),
            Some("rate") => self.quantity::<Rate>(schema, 1_000_000_000),
            Some("host") => json!(format!("host {}", self.below(8))),
            _ => json!(self.one_of(&names)),
        }
    }

    /// Mostly up to a hundred times the scale.
    fn quantity<Q: Quantity>(&mut self, schema: &Value, scale: u64) -> Value {
        let end = |key: &str| Some(base::<Q>(schema.get(key)?.as_str()?));
        let (low, high) = (end("x-minimum").unwrap_or(0), end("x-maximum").unwrap_or(u64::MAX));
        let value = match self.below(12) {
            0 if self.taste.is_none() => low,
            1 if self.taste.is_none() => high,
            _ if self.taste.is_some() => self.round(scale),
            2 => low.saturating_add(self.stream.below(20)),
            _ => low.saturating_add(self.stream.below(100 * scale)),
        };
        json!(print(Q::new(value.clamp(low, high))))
    }

    /// A round number times a power of ten up to a hundred times the scale, so that times, sizes and rates of a run meet.
    fn round(&mut self, scale: u64) -> u64 {
        let zeros = self.stream.below(4);
        let whole = *self.one_of(&[1, 2, 3, 5, 10, 15, 40, 99]) * scale * 10 / 10u64.pow(zeros as u32);
        whole.max(1)
    }

    /// Sets a place of the document, drawn among all that the schema knows of, to a value that it allows there.
    pub fn mutate(&mut self, document: &mut Value) {
        let places = places(self.root, document);
        let (pointer, place) = self.one_of(&places).clone();
        let value = self.value(place.schema);
        put(document, &pointer, value);
    }
}

/// Rules of the schema for a place in a document.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The values that are allowed there.
    pub schema: &'a Value,
    /// The definition that the place is in, and the field that it is.
    pub definition: &'a str,
    /// None for an item of a list.
    pub field: Option<&'a str>,
    /// Whether the document may do without.
    pub optional: bool,
}

/// The definition to which a schema refers.
pub fn definition(schema: &Value) -> Option<&str> {
    Some(schema.get("$ref")?.as_str()?.rsplit_once('/')?.1)
}

/// Every place in a document for which the schema has rules, by its pointer: values, and absent keys.
pub fn places<'a>(root: &'a Value, document: &Value) -> Vec<(String, Place<'a>)> {
    let mut places = Vec::new();
    places_of(root, (root, ""), document, String::new(), &mut places);
    places
}

fn base<Q: Quantity>(text: &str) -> u64 {
    parse::<Q>(text).expect("bounds are good quantities").base()
}

/// Bounds how many flows there are: they are drawn before the run, whatever its end.
pub fn calm(document: &mut Value) {
    for entry in document["traffic"].as_array_mut().into_iter().flatten() {
        let drawn = entry["arrivals"].get("poisson").is_some_and(Value::is_object)
            && entry["matrix"].get("reply").is_none();
        let flows = entry.get("flows").and_then(Value::as_u64);
        if drawn || flows.is_some() {
            entry["flows"] = json!(flows.unwrap_or(30).min(60));
        }
        for (arrivals, count) in [("blocks", "blocks"), ("on-off", "flows_each")] {
            if let Some(count) =
                entry["arrivals"].get_mut(arrivals).and_then(|settings| settings.get_mut(count))
            {
                *count = json!(count.as_u64().unwrap_or(1).min(3));
            }
        }
    }
}

/// Puts a value where a JSON pointer leads, or takes what is there away if the value is null.
pub fn put(document: &mut Value, pointer: &str, value: Value) {
    let (above, key) = pointer.rsplit_once('/').expect("a place below the document");
    match document.pointer_mut(above) {
        Some(Value::Object(map)) if value.is_null() => drop(map.shift_remove(key)),
        Some(Value::Object(map)) => drop(map.insert(key.into(), value)),
        Some(Value::Array(items)) => items[key.parse::<usize>().expect("an index")] = value,
        _ => unreachable!("places are below tables and lists"),
    }
}

fn places_of<'a>(
    root: &'a Value,
    (schema, outer): (&'a Value, &'a str),
    value: &Value,
    pointer: String,
    places: &mut Vec<(String, Place<'a>)>,
) {
    let here = definition(schema).unwrap_or(outer);
    let schema = resolve(root, schema);
    let members = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)?.as_array());
    for member in members.into_iter().flatten() {
        places_of(root, (member, here), value, pointer.clone(), places);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    if let (Some(properties), Value::Object(map)) = (properties, value) {
        let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // Of a choice, the variant that is there.
        let chosen = required.iter().all(|key| map.contains_key(key.as_str().unwrap_or("")));
        for (key, member) in properties.iter().filter(|_| chosen) {
            let below = format!("{pointer}/{key}");
            let optional = !required.contains(&json!(key));
            let place = Place { schema: member, definition: here, field: Some(key), optional };
            places.push((below.clone(), place));
            if let Some(value) = map.get(key) {
                places_of(root, (member, here), value, below, places);
            }
        }
    }
    if let (Some(member), Value::Array(items)) =
        (schema.get("items").filter(|items| items.is_object()), value)
    {
        for (index, item) in items.iter().enumerate().take(20) {
            let below = format!("{pointer}/{index}");
            let place = Place { schema: member, definition: here, field: None, optional: false };
            places.push((below.clone(), place));
            places_of(root, (member, here), item, below, places);
        }
    }
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec!["null"],
    }
}

/// Follows references.
pub fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    while let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        schema = root.pointer(pointer.trim_start_matches('#')).expect("references lead to definitions");
    }
    schema
}
