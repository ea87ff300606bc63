//! Quantities with their unit in the type: time in picoseconds, sizes in bytes, rates in bits per second.
//!
//! All three are whole numbers, so that no rounding decides an order. In scenario files they are
//! strings with a unit ("1.5us", "64KiB", "10Gbps"); a string that is not a whole number of the
//! base unit is refused, never rounded. KB is 1000 bytes, KiB is 1024.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in simulated time or a span of it, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// Picoseconds in a second.
pub const SECOND: u64 = 1_000_000_000_000;

impl Time {
    /// The instant at which every run starts.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// A span of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * 1_000)
    }

    /// A span of whole microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    /// The span in seconds, for people and for ratios; never for an order of events.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }

    /// `self + span`, or [`Time::NEVER`] where that does not fit.
    pub fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// `self - earlier`, or zero if `earlier` is later.
    pub fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for Time {
    type Output = Time;
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}

impl std::ops::Sub for Time {
    type Output = Time;
    fn sub(self, earlier: Time) -> Time {
        Time(self.0 - earlier.0)
    }
}

impl Rate {
    /// Time to put `bytes` on a wire of this rate: exact where the rate divides, else rounded up. Out of line: ports need it
    /// only at rates that have no whole number of picoseconds a byte.
    #[inline(never)]
    pub fn transmission(self, bytes: u64) -> Time {
        // A packet's division fits a machine word, and is several times as fast there.
        if let Some(picobits) = bytes.checked_mul(8 * SECOND) {
            return Time(picobits.div_ceil(self.0));
        }
        let picobits = u128::from(bytes) * 8 * u128::from(SECOND);
        Time(picobits.div_ceil(u128::from(self.0)) as u64)
    }

    /// Time on the wire in whole nanoseconds, the rest of which is cut off; not zero.
    pub fn transmission_in_ns(self, bytes: u32) -> Time {
        Time((u64::from(bytes) * 8 * (SECOND / 1000) / self.0 * 1000).max(1))
    }

    /// Picoseconds that so many bytes take on average.
    pub fn mean_transmission(self, bytes: f64) -> f64 {
        bytes * 8.0 / self.0 as f64 * SECOND as f64
    }

    /// Picoseconds for each byte, if that is a whole number (100 Gbps: 80, 10 Gbps: 800).
    pub fn whole_ps_per_byte(self) -> Option<u32> {
        let picobits = 8 * SECOND;
        let whole = self.0 > 0 && picobits.is_multiple_of(self.0);
        whole.then(|| u32::try_from(picobits / self.0).ok()).flatten()
    }
}

/// A kind of quantity: its units, largest first, each with its size in base units.
pub trait Quantity: Sized + Copy {
    /// Value of the schema's `format` ("time-span", "bytes", "rate"). JSON Schema has a format "time" of its own, a
    /// time of day, to which some editors hold what is written.
    const FORMAT: &'static str;
    /// Unit names and what one of each is in base units, largest first.
    const UNITS: &'static [(&'static str, u64)];
    /// An example of a good value, for messages.
    const EXAMPLE: &'static str;
    /// From base units.
    fn new(base: u64) -> Self;
    /// In base units.
    fn base(self) -> u64;
}

impl Quantity for Time {
    const FORMAT: &'static str = "time-span";
    const UNITS: &'static [(&'static str, u64)] =
        &[("s", SECOND), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
    const EXAMPLE: &'static str = "\"10us\"";
    fn new(base: u64) -> Time {
        Time(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl Quantity for Bytes {
    const FORMAT: &'static str = "bytes";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("KB", 1_000),
        ("B", 1),
    ];
    const EXAMPLE: &'static str = "\"64KiB\"";
    fn new(base: u64) -> Bytes {
        Bytes(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl Quantity for Rate {
    const FORMAT: &'static str = "rate";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("Tbps", 1_000_000_000_000),
        ("Gbps", 1_000_000_000),
        ("Mbps", 1_000_000),
        ("Kbps", 1_000),
        ("bps", 1),
    ];
    const EXAMPLE: &'static str = "\"10Gbps\"";
    fn new(base: u64) -> Rate {
        Rate(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

/// The message of [`parse`] for a quantity of more than 64 bits.
pub const TOO_LARGE: &str = "is too large";

/// Reads a quantity such as "1.5us"; the error says what is wrong, without the value.
pub fn parse<Q: Quantity>(text: &str) -> Result<Q, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = (&text[..digits], text[digits..].trim_start());
    let units = || Q::UNITS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if text.starts_with('-') {
        return Err("is negative; use 0 or more".into());
    }
    // What is no word, such as the ",5us" of "1,5us", is no unit either.
    let is_word = unit.len() < 20 && unit.chars().all(char::is_alphabetic);
    if number.is_empty() || number.starts_with('.') || number.ends_with('.') || !is_word {
        return Err(format!("is not a number with a unit, such as {}", Q::EXAMPLE));
    }
    if unit.is_empty() {
        return Err(format!("has no unit; use one of {}, as in {}", units(), Q::EXAMPLE));
    }
    // The micro sign and the Greek letter, which reports print.
    let latin = unit.replace(['\u{b5}', '\u{3bc}'], "u");
    let Some((_, scale)) = Q::UNITS.iter().find(|(name, _)| *name == latin) else {
        return Err(format!("has the unit \"{unit}\"; use one of {}", units()));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || whole.len() + fraction.len() > 30 {
        return Err(format!("is not a number with a unit, such as {}", Q::EXAMPLE));
    }
    // At most 30 digits times 10^12 fits into 128 bits only below 3.4e26: check each step.
    let too_large = || TOO_LARGE.to_string();
    let mantissa: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
    let product = mantissa.checked_mul(u128::from(*scale)).ok_or_else(too_large)?;
    let divisor = 10u128.pow(fraction.len() as u32);
    let (_, base_unit) = (0, Q::UNITS[Q::UNITS.len() - 1].0);
    if !product.is_multiple_of(divisor) {
        return Err(format!("is not a whole number of {base_unit}"));
    }
    u64::try_from(product / divisor).map(Q::new).map_err(|_| too_large())
}

/// Writes a quantity in the largest unit that divides it: what [`parse`] reads back.
pub fn print<Q: Quantity>(value: Q) -> String {
    let base = value.base();
    let fits = |&&(_, scale): &&(&str, u64)| base >= scale && base.is_multiple_of(scale);
    let (unit, scale) = Q::UNITS.iter().find(fits).unwrap_or(&Q::UNITS[Q::UNITS.len() - 1]);
    format!("{}{unit}", base / scale)
}

macro_rules! as_text {
    ($($quantity:ident: $description:literal),*) => {$(
        impl fmt::Display for $quantity {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&print(*self))
            }
        }

        impl FromStr for $quantity {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                parse(text)
            }
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&print(*self))
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                parse(&text).map_err(|why| serde::de::Error::custom(format!("\"{text}\" {why}")))
            }
        }

        impl JsonSchema for $quantity {
            fn schema_name() -> Cow<'static, str> {
                stringify!($quantity).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "format": $quantity::FORMAT,
                    "description": $description,
                })
            }
        }
    )*};
}

as_text!(
    Time: "A time with its unit: s, ms, us, ns or ps, as in \"10us\".",
    Bytes: "A size with its unit: B, KB (1000), KiB (1024), MB, MiB, GB or GiB, as in \"64KiB\".",
    Rate: "A rate with its unit: bps, Kbps, Mbps, Gbps or Tbps, as in \"10Gbps\"."
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_prints() {
        assert_eq!(parse::<Time>("1.5us"), Ok(Time(1_500_000)));
        assert_eq!(parse::<Time>("1.5\u{b5}s"), Ok(Time(1_500_000)));
        assert_eq!(parse::<Time>("2 \u{3bc}s"), Ok(Time(2_000_000)));
        assert_eq!(parse::<Bytes>("64KiB"), Ok(Bytes(65_536)));
        assert_eq!(parse::<Rate>("2.5 Gbps"), Ok(Rate(2_500_000_000)));
        assert_eq!(Time(1_500_000).to_string(), "1500ns");
        assert_eq!(Bytes(0).to_string(), "0B");
    }

    #[test]
    fn refuses_what_it_would_have_to_guess() {
        for text in ["", "10", "us", "1.us", ".5us", "1,5us", "1us2", "-1us", "1e3us", "0.1ps", "10 parsecs"]
        {
            assert!(parse::<Time>(text).is_err(), "{text}");
        }
        assert_eq!(parse::<Time>("99999999999s"), Err("is too large".into()));
        assert_eq!(parse::<Bytes>("1.5B"), Err("is not a whole number of B".into()));
    }

    /// A number has at most 30 digits, zeros among them.
    #[test]
    fn thirty_digits_are_the_most() {
        let kilobytes = |zeros: usize| parse::<Bytes>(&format!("1.5{}KB", "0".repeat(zeros)));
        assert_eq!(kilobytes(28), Ok(Bytes(1500)));
        assert_eq!(kilobytes(29), Err(format!("is not a number with a unit, such as {}", Bytes::EXAMPLE)));
    }

    proptest! {
        #[test]
        fn printing_and_reading_are_inverse(base in any::<u64>()) {
            prop_assert_eq!(parse::<Time>(&Time(base).to_string()), Ok(Time(base)));
            prop_assert_eq!(parse::<Bytes>(&Bytes(base).to_string()), Ok(Bytes(base)));
            prop_assert_eq!(parse::<Rate>(&Rate(base).to_string()), Ok(Rate(base)));
        }

        /// Against exact rationals: t * rate >= bits > (t - 1 ps) * rate, in units of 1e-12 bit.
        #[test]
        fn transmission_is_exact_or_rounded_up(bytes in 1u64..20_000_000, rate in 1_000u64..2_000_000_000_000) {
            let time = u128::from(Rate(rate).transmission(bytes).0);
            let bits = u128::from(bytes) * 8 * u128::from(SECOND);
            prop_assert!(time * u128::from(rate) >= bits);
            prop_assert!((time - 1) * u128::from(rate) < bits);
            if let Some(whole) = Rate(rate).whole_ps_per_byte() {
                prop_assert_eq!(u128::from(whole) * u128::from(bytes), time);
            }
        }
    }
}
