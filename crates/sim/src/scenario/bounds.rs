//! Bounds of numbers, quantities, texts and lists, as the schema has them.
//!
//! Bounds of quantities are strings with a unit, which JSON Schema has no keyword for: `x-minimum`
//! and `x-maximum`.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::nearest::{closest, did_you_mean};
use crate::problem::show;
use crate::traffic::hosts::Host;
use crate::units::{self, Bytes, Quantity, Rate, Time};

/// Either fine, or the problem and the nearest fix.
pub(super) type Check = Result<(), (String, Option<String>)>;

/// Checks a value of the right type.
pub(super) fn bounds(schema: &Value, value: &Value) -> Check {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or("");
    match value {
        Value::Number(number) => {
            number_bounds(schema, format, number)?;
            multiple(schema, format, number)
        }
        Value::String(text) => match quantity(format) {
            Some(quantity) => quantity_bounds(schema, &quantity, text),
            None => length_bounds(schema, "Length", text.chars().count()),
        },
        Value::Array(items) => length_bounds(schema, "Items", items.len()),
        _ => Ok(()),
    }
}

/// A kind of quantity.
pub(super) struct Kind {
    pub name: &'static str,
    pub example: &'static str,
    parse: fn(&str) -> Result<u64, String>,
    format: &'static str,
    units: &'static [(&'static str, u64)],
    /// The end of the name of each unit, in small letters, and other ways in which that is written.
    suffix: &'static str,
    spellings: &'static [&'static str],
}

impl Kind {
    /// The unit that another spelling of it means: "25G" or "25 Gbit/s" for Gbps, "usec" for us; or one with few typing
    /// errors.
    fn unit_meant(&self, written: &str) -> Option<&'static str> {
        let plain = written.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u");
        let known = || self.units.iter().map(|(unit, _)| *unit);
        let spelled = |unit: &&str| {
            let unit = unit.to_lowercase();
            let rest = plain.strip_prefix(unit.strip_suffix(self.suffix).unwrap_or(&unit));
            !plain.is_empty() && rest.is_some_and(|rest| rest.is_empty() || self.spellings.contains(&rest))
        };
        let own = known().find(|unit| plain == unit.to_lowercase());
        own.or_else(|| known().find(spelled)).or_else(|| closest(written, known()))
    }
}

/// The kind of quantity that a `format` names.
pub(super) fn quantity(format: &str) -> Option<Kind> {
    const SECONDS: &[&str] = &["sec", "secs", "second", "seconds"];
    const BYTES: &[&str] = &["byte", "bytes"];
    const BITS: &[&str] = &["b", "bit", "bits", "be", "b/s", "bit/s", "bits/s", "bit/sec"];
    fn kind<Q: Quantity>(
        name: &'static str,
        suffix: &'static str,
        spellings: &'static [&'static str],
    ) -> Kind {
        let parse = |text: &str| units::parse::<Q>(text).map(Q::base);
        Kind { name, example: Q::EXAMPLE, parse, format: Q::FORMAT, units: Q::UNITS, suffix, spellings }
    }
    match format {
        Time::FORMAT => Some(kind::<Time>("time", "s", SECONDS)),
        Bytes::FORMAT => Some(kind::<Bytes>("size", "b", BYTES)),
        Rate::FORMAT => Some(kind::<Rate>("rate", "bps", BITS)),
        _ => None,
    }
}

/// The rate in bits of one that is written in bytes: "3.125GBps" or "3.125 GB/s" is 25 Gbps.
fn of_bytes(text: &str) -> Option<String> {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[number.len()..].trim();
    let scale = unit.strip_suffix("Bps").or(unit.strip_suffix("B/s"))?;
    let bits = 8.0 * number.trim().parse::<f64>().ok()?;
    matches!(scale, "" | "K" | "k" | "M" | "G" | "T").then(|| format!("{bits}{}bps", scale.replace('k', "K")))
}

fn quantity_bounds(schema: &Value, quantity: &Kind, text: &str) -> Check {
    let shown = show(&text.into());
    let bound = |keyword: &str| {
        let bound = schema.get(format!("x-{keyword}"))?.as_str()?;
        Some(((quantity.parse)(bound).expect("bounds are good quantities"), format!("\"{bound}\"")))
    };
    let parsed = (quantity.parse)(text);
    if parsed.as_ref().is_err_and(|why| why == units::TOO_LARGE) {
        // Beyond 64 bits, and so beyond any bound.
        within(&u64::MAX, &shown, bound, u64::cmp)?;
    }
    let base = parsed.map_err(|why| {
        let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = quantity.unit_meant(text[number.len()..].trim());
        if let (Rate::FORMAT, Some(rate)) = (quantity.format, of_bytes(text)) {
            return (format!("{shown} is of bytes, and rates are of bits"), Some(did_you_mean(rate)));
        }
        let fixed =
            unit.map(|unit| format!("{number}{unit}")).filter(|fixed| (quantity.parse)(fixed).is_ok());
        let (unit, scale) = quantity.units[0];
        let allowed = match why == units::TOO_LARGE {
            true => format!(" (allowed: at most \"{}{unit}\")", u64::MAX / scale),
            false => String::new(),
        };
        (format!("{shown} {why}{allowed}"), fixed.map(did_you_mean))
    })?;
    within(&base, &shown, bound, u64::cmp)
}

fn number_bounds(schema: &Value, format: &str, number: &Number) -> Check {
    // schemars leaves the end of the type's range to its name.
    let of_type = |keyword: &str| match (keyword, format) {
        ("maximum", "uint32" | Host::FORMAT) => Some(u32::MAX.into()),
        ("maximum", "int32") => Some(i32::MAX.into()),
        ("minimum", "int32") => Some(i32::MIN.into()),
        _ => None,
    };
    let bound = |keyword: &str| {
        let bound: Number = match schema.get(keyword) {
            Some(Value::Number(bound)) => bound.clone(),
            _ => of_type(keyword)?,
        };
        let shown = plain(&bound);
        Some((bound, shown))
    };
    let check = within(number, &plain(number), bound, compare);
    check.map_err(|(message, hint)| (message, instead(number, bound).unwrap_or(hint)))
}

/// Least bounds below this only keep quotients finite: no value to propose.
const NO_VALUE: f64 = 1e-3;

/// A number to write in place of one that is not above 0, where the nearest bound is not the one that was meant: the same
/// without its sign; none where the bound is tiny.
fn instead(number: &Number, bound: impl Fn(&str) -> Option<(Number, String)>) -> Option<Option<String>> {
    let float = number.as_f64().filter(|float| *float <= 0.0)?;
    let positive = match number.as_i64() {
        Some(whole) => Number::from(whole.unsigned_abs()),
        None => Number::from_f64(-float)?,
    };
    let shown = plain(&positive);
    if float < 0.0 && within(&positive, &shown, &bound, compare).is_ok() {
        return Some(Some(format!("use {shown}")));
    }
    let least = bound("minimum")?.0.as_f64()?;
    (least > 0.0 && least < NO_VALUE).then_some(None)
}

fn multiple(schema: &Value, format: &str, number: &Number) -> Check {
    let (Some(step), Some(number)) = (schema.get("multipleOf").and_then(Value::as_u64), number.as_u64())
    else {
        return Ok(());
    };
    if number.is_multiple_of(step) {
        return Ok(());
    }
    let low = number - number % step;
    let inside = |fix: &u64| number_bounds(schema, format, &(*fix).into()).is_ok();
    let fixes: Vec<_> =
        [low, low.saturating_add(step)].iter().filter(|fix| inside(fix)).map(u64::to_string).collect();
    let (wrong, right) = match step {
        2 => (format!("{number} is odd"), "an even number".to_string()),
        _ => (format!("{number} is not a multiple of {step}"), format!("a multiple of {step}")),
    };
    Err((wrong, Some(format!("use {right} such as {}", fixes.join(" or ")))))
}

fn length_bounds(schema: &Value, of: &str, length: usize) -> Check {
    let bound = |keyword: &str| {
        let bound = schema.get(format!("{}{of}", keyword.strip_suffix("imum")?))?.as_u64()?;
        Some((bound, bound.to_string()))
    };
    let check = within(&(length as u64), &format!("a length of {length}"), bound, u64::cmp);
    check.map_err(|(message, _)| match (length, bound("minimum")) {
        (0, Some((least, _))) => (format!("is empty; give at least {least}"), None),
        _ => (message, None),
    })
}

/// The ends that a range may have: keyword, words, and the values beyond.
const ENDS: [(&str, &str, Ordering); 4] = [
    ("minimum", "at least", Ordering::Less),
    ("exclusiveMinimum", "more than", Ordering::Less),
    ("maximum", "at most", Ordering::Greater),
    ("exclusiveMaximum", "less than", Ordering::Greater),
];

/// Checks a value against the ends that `bound` has for the keywords, each with the text that shows it.
fn within<T>(
    value: &T,
    shown: &str,
    bound: impl Fn(&str) -> Option<(T, String)>,
    order: impl Fn(&T, &T) -> Ordering,
) -> Check {
    let end = |(keyword, words, beyond): (&'static str, _, _)| {
        let (limit, text) = bound(keyword)?;
        Some((keyword.starts_with("exclusive"), words, beyond, limit, text))
    };
    let ends: Vec<_> = ENDS.into_iter().filter_map(end).collect();
    for (exclusive, _, beyond, limit, text) in &ends {
        let order = order(value, limit);
        if order == *beyond || (*exclusive && order == Ordering::Equal) {
            let allowed = match &ends[..] {
                [(false, _, Ordering::Less, _, low), (false, _, Ordering::Greater, _, high)] => {
                    if low == high { low.clone() } else { format!("{low} to {high}") }
                }
                ends => {
                    let each = ends.iter().map(|(_, words, _, _, text)| format!("{words} {text}"));
                    each.collect::<Vec<_>>().join(" and ")
                }
            };
            let size = if *beyond == Ordering::Less { "small" } else { "large" };
            let message = format!("{shown} is too {size} (allowed: {allowed})");
            return Err((message, (!exclusive).then(|| format!("use {text}"))));
        }
    }
    Ok(())
}

/// A number without the ".0" of a whole one.
pub(super) fn plain(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) if float.abs() < 1e15 => float.to_string(),
        _ => number.to_string(),
    }
}

/// Exact where both are whole numbers.
fn compare(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(schema: &Value, value: Value) -> String {
        match bounds(schema, &value) {
            Ok(()) => String::new(),
            Err((message, hint)) => format!("{message}; {}", hint.unwrap_or_default()),
        }
    }

    #[test]
    fn multiples_come_with_their_neighbours() {
        let schema = json!({"type": "integer", "minimum": 2, "maximum": 64, "multipleOf": 2});
        assert_eq!(message(&schema, json!(8)), "");
        assert_eq!(message(&schema, json!(7)), "7 is odd; use an even number such as 6 or 8");
        assert_eq!(message(&schema, json!(65)), "65 is too large (allowed: 2 to 64); use 64");
        let schema = json!({"type": "integer", "minimum": 5, "multipleOf": 3});
        assert_eq!(message(&schema, json!(4)), "4 is too small (allowed: at least 5); use 5");
        assert_eq!(message(&schema, json!(5)), "5 is not a multiple of 3; use a multiple of 3 such as 6");
    }

    #[test]
    fn a_sign_too_many_is_taken_off() {
        let share = json!({"type": "number", "minimum": 1e-9, "maximum": 10.0});
        assert_eq!(message(&share, json!(-0.5)), "-0.5 is too small (allowed: 0.000000001 to 10); use 0.5");
        assert_eq!(message(&share, json!(0)), "0 is too small (allowed: 0.000000001 to 10); ");
        assert_eq!(message(&share, json!(-20)), "-20 is too small (allowed: 0.000000001 to 10); ");
        let count = json!({"type": "integer", "minimum": 1, "maximum": 10});
        assert_eq!(message(&count, json!(-5)), "-5 is too small (allowed: 1 to 10); use 5");
        assert_eq!(message(&count, json!(-50)), "-50 is too small (allowed: 1 to 10); use 1");
        assert_eq!(message(&count, json!(0)), "0 is too small (allowed: 1 to 10); use 1");
    }

    #[test]
    fn ends_may_be_outside() {
        let schema = json!({"type": "number", "exclusiveMinimum": 0.0, "maximum": 10.0});
        assert_eq!(message(&schema, json!(10)), "");
        assert_eq!(message(&schema, json!(0.0)), "0 is too small (allowed: more than 0 and at most 10); ");
        assert_eq!(
            message(&schema, json!(10.5)),
            "10.5 is too large (allowed: more than 0 and at most 10); use 10"
        );
    }

    #[test]
    fn beyond_64_bits_it_says_what_fits() {
        let of =
            |format: &str, value: &str| message(&json!({"type": "string", "format": format}), json!(value));
        let large =
            |value: &str, most: &str| format!("\"{value}\" is too large (allowed: at most \"{most}\"); ");
        assert_eq!(of(Time::FORMAT, "999999990s"), large("999999990s", "18446744s"));
        assert_eq!(of(Bytes::FORMAT, "99999999999GiB"), large("99999999999GiB", "17179869183GiB"));
        assert_eq!(of(Rate::FORMAT, "18446745Tbps"), large("18446745Tbps", "18446744Tbps"));
        assert_eq!(of(Time::FORMAT, "18446744s"), "");
    }

    #[test]
    fn large_whole_numbers_compare_exactly() {
        let schema = json!({"type": "integer", "maximum": u64::MAX - 1});
        assert_eq!(message(&schema, json!(u64::MAX - 1)), "");
        assert_ne!(message(&schema, json!(u64::MAX)), "");
    }
}
