//! Allowed settings that are probably not meant: settings that throttle or distort a run in silence.
//!
//! Advice on the fields of one transport or queue is given in its file, by `Settings::advice`; `advisor.rs`
//! collects it, and adds advice on parts that do not fit each other. Each advice gives the consequence in
//! numbers, and the value to write instead. Advice changes nothing: no result, no exit code. `run.advice =
//! false` silences it.

use serde::Serialize;

use crate::derived::Longest;
use crate::units::Time;

/// One thing that is probably not meant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Where, as `--set` would address it.
    pub path: String,
    /// The consequence, with its numbers.
    pub message: String,
    /// The value to write instead: KEY = VALUE.
    pub write: String,
}

impl Advice {
    /// Whether it is on an entry's load.
    pub fn is_on_load(&self) -> bool {
        self.path.contains(".arrivals.")
    }
}

/// A field of a member that its other fields leave unread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Its path below the member.
    pub field: String,
    /// The setting with which it is read: KEY = VALUE of the member, or words.
    pub unless: String,
}

impl Unread {
    /// Those of the fields for which the condition, which stands beside them in words, does not hold.
    pub fn among<const N: usize>(fields: [(&'static str, bool, &'static str); N]) -> Vec<Unread> {
        let unread = fields.into_iter().filter(|(_, read, _)| !read);
        unread.map(|(field, _, unless)| Unread { field: field.into(), unless: unless.into() }).collect()
    }
}

/// A share of the need that requires no advice: a window of 29 packets where 30 would fill the path.
pub const NEARLY: f64 = 0.95;

/// A window of so many packets of so many bytes that does not fill the longest path.
pub fn window(
    path: &str,
    field: &str,
    (packets, bytes): (u64, u64),
    longest: &Longest,
    instead: String,
) -> Option<Advice> {
    let share = (packets * bytes) as f64 / longest.bdp as f64;
    (share < NEARLY).then(|| Advice {
        path: format!("{path}.{field}"),
        message: format!(
            "{packets} x {bytes} B = {} is below the bandwidth-delay product of the longest path, {}: one flow \
             reaches at most {:.0} % of its link",
            size(packets * bytes),
            size(longest.bdp),
            100.0 * share
        ),
        write: format!("{path}.{field} = {instead}"),
    })
}

/// Bytes for people: three digits.
pub fn size(bytes: u64) -> String {
    digits(bytes as f64, &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB")], "B")
}

/// A time for people: three digits.
pub fn span(time: Time) -> String {
    digits(time.0 as f64, &[(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")], "ps")
}

/// A time as a scenario has it, rounded up to two digits.
pub fn about(time: Time) -> Time {
    let mut step = 1;
    while time.0 / step >= 100 {
        step *= 10;
    }
    Time(time.0.div_ceil(step).saturating_mul(step))
}

fn digits(value: f64, units: &[(f64, &str)], base: &str) -> String {
    let (scale, unit) = units.iter().find(|(scale, _)| value >= *scale).copied().unwrap_or((1.0, base));
    let scaled = value / scale;
    let places = if scaled >= 99.95 || scaled.fract() < 1e-9 { 0 } else { usize::from(scaled < 9.995) + 1 };
    let text = format!("{scaled:.places$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// The offered load of an entry.
pub struct Offer {
    pub entry: usize,
    /// Where its load, or its rate, stands in the scenario.
    pub path: String,
    pub load: f64,
    /// Arrivals a second, of an entry that gives these in place of a load.
    pub rate: Option<f64>,
    /// Bytes on a link for each of payload.
    pub taken: f64,
    /// Bits per second, with headers.
    pub bps: f64,
}

/// Share of the load that just fits which advice proposes.
const HEADROOM: f64 = 0.9;

impl Offer {
    /// The load for people: three decimal places at most.
    pub fn shown(&self) -> String {
        ((1000.0 * self.load).round() / 1000.0).to_string()
    }

    /// Advice to offer a load that leaves some room below the one that just fits, at which queues still grow.
    pub fn lower(&self, message: String, fits: f64) -> Advice {
        let load = HEADROOM * fits;
        let write = match self.rate {
            Some(rate) => format!("{} = {:.0}", self.path, (rate * load / self.load).floor()),
            None => format!("{} = {:.2}", self.path, (100.0 * load).floor() / 100.0),
        };
        Advice { path: self.path.clone(), message, write }
    }
}

#[cfg(test)]
pub mod tests {
    //! Shared parts of the tests of advice in other files.

    use super::*;
    use crate::units::Rate;

    /// 100 Gbps and 12.32 us: 154 KB.
    pub const FABRIC: Longest = Longest {
        round_trip: Time(12_320_000),
        delay: Time(12_000_000),
        bdp: 154_000,
        rate: Rate(100_000_000_000),
    };

    #[test]
    fn a_window_says_its_share_of_the_path() {
        let advice = window("transport.ndp", "initial_window", (30, 1500), &FABRIC, "\"bdp\"".into());
        let advice = advice.expect("45 of 154 KB");
        assert_eq!(advice.write, "transport.ndp.initial_window = \"bdp\"");
        assert_eq!(
            advice.message,
            "30 x 1500 B = 45 KB is below the bandwidth-delay product of the longest path, 154 KB: one flow reaches at \
             most 29 % of its link"
        );
        assert_eq!(window("t", "w", (103, 1500), &FABRIC, String::new()), None);
    }

    #[test]
    fn numbers_have_three_digits() {
        let sizes = [999, 1_000, 45_000, 65_535, 154_000, 1_600_000].map(size);
        assert_eq!(sizes, ["999 B", "1 KB", "45 KB", "65.5 KB", "154 KB", "1.6 MB"]);
        assert_eq!([Time::from_us(500), Time(12_320_000)].map(span), ["500 us", "12.3 us"]);
        assert_eq!(
            [Time(174_471_370_830), Time(99), Time(100)].map(about),
            [Time(180_000_000_000), Time(99), Time(100)]
        );
    }
}
