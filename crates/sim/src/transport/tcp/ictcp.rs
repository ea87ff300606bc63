//! ICTCP: the receiver sets the windows of its connections so that together they fill its link, and no more.
//!
//! Source: Wu, Feng, Guo and Zhang, "ICTCP: Incast congestion control for TCP in data-center networks", CoNEXT 2010. Its
//! rules are those of the paper as public descriptions and a port to ns-3 give them; constants from memory of the paper
//! are fields. An interface alternates between halves of a slot, each as long as the mean round trip of its data: in the
//! first it measures the rate of arrivals, in the second its connections may widen their windows by what is left of
//! nine tenths of the link. A connection compares the throughput that its window allows with the one it has, once a
//! round trip. Here only connections under ICTCP count as arrivals at an interface.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transport::rtt::Rtt;
use crate::units::{Rate, SECOND, Time};

/// ICTCP: windows set by the receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ictcp {
    /// alpha: share of the interface's rate up to which windows grow (0.9).
    #[schemars(range(min = 0.01, max = 1.0))]
    pub share: f64,
    /// beta: weight of the past in the measured throughput of a connection, which a higher sample replaces at once (0.75).
    #[schemars(range(min = 0.0, max = 0.999))]
    pub smoothing: f64,
    /// gamma_1: the window grows if the throughput is at most by this share below the expected one (0.1), or by a segment of the
    /// window.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub widen_below: f64,
    /// gamma_2: the window shrinks if it is by more than this share below, so many round trips on end (0.5).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub narrow_above: f64,
    /// Round trips on end after which it shrinks by a segment (3).
    #[schemars(range(min = 1, max = 1000))]
    pub rounds: u32,
    /// Smallest window, and that of a connection that is new or was idle, in segments (2).
    #[schemars(range(min = 1, max = 1000))]
    pub least: u32,
    /// With less than this share of the interface's rate left, windows more than a segment above the mean shrink (0.2).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub scarce: f64,
    /// A connection without data for this time begins anew (2 s).
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1000s"))]
    pub idle: Time,
}

impl Default for Ictcp {
    fn default() -> Self {
        Ictcp {
            share: 0.9,
            smoothing: 0.75,
            widen_below: 0.1,
            narrow_above: 0.5,
            rounds: 3,
            least: 2,
            scarce: 0.2,
            idle: Time(2 * SECOND),
        }
    }
}

/// Bits per second of so many bytes in a time.
fn bits_per_second(bytes: u64, time: Time) -> f64 {
    8.0 * bytes as f64 * SECOND as f64 / time.0.max(1) as f64
}

/// Half of an interface's slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Half {
    /// Arrivals are measured, and no window grows.
    #[default]
    Measures,
    /// Windows grow by what the measurement has left.
    Widens,
}

/// The arrivals at one interface of a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interface {
    half: Half,
    /// When this half began, and, of one in which windows grow, its length.
    since: Time,
    lasts: Time,
    /// Bytes in a half that measures, and those of connections with a known round trip, times it.
    bytes: u64,
    timed_bytes: u64,
    weighted: f64,
    /// Rate that windows may still take in this half, in bits per second.
    quota: f64,
    /// Whether little was left.
    scarce: bool,
    /// Windows that were looked at in this slot and their number, and the mean of those in the last one.
    windows: u64,
    looks: u32,
    mean_window: f64,
}

impl Interface {
    /// Data arrives, of a connection with that round trip.
    fn on_data(&mut self, len: u32, rtt: Option<Time>, rate: Rate, rules: &Ictcp, now: Time) {
        let passed = now.saturating_sub(self.since);
        match self.half {
            Half::Measures if self.timed_bytes > 0 && passed >= self.mean_rtt() => {
                self.widens(bits_per_second(self.bytes, passed), rate, rules, now);
            }
            Half::Widens if passed >= self.lasts => {
                (self.half, self.since) = (Half::Measures, now);
                (self.bytes, self.timed_bytes, self.weighted) = (0, 0, 0.0);
            }
            Half::Measures if self.bytes == 0 => self.since = now,
            _ => {}
        }
        self.bytes += u64::from(len);
        if let Some(rtt) = rtt {
            self.timed_bytes += u64::from(len);
            self.weighted += f64::from(len) * rtt.0 as f64;
        }
    }

    /// The mean round trip of the data, by bytes.
    fn mean_rtt(&self) -> Time {
        Time((self.weighted / self.timed_bytes as f64) as u64)
    }

    /// So many bits per second have been measured: windows may take the rest.
    fn widens(&mut self, measured: f64, rate: Rate, rules: &Ictcp, now: Time) {
        self.quota = (rules.share * rate.0 as f64 - measured).max(0.0);
        self.scarce = self.quota < rules.scarce * rate.0 as f64;
        self.mean_window = self.windows as f64 / f64::from(self.looks.max(1));
        (self.windows, self.looks) = (0, 0);
        self.lasts = self.mean_rtt();
        (self.half, self.since) = (Half::Widens, now);
    }

    /// A window is to grow by up to so many bytes for a round trip: the bytes that it may, cut to whole segments.
    fn take(&mut self, bytes: u64, mss: u64, rtt: Time) -> u64 {
        if self.half == Half::Measures {
            return 0;
        }
        let room = self.quota * rtt.0 as f64 / (8.0 * SECOND as f64);
        let granted = bytes.min(room as u64 / mss * mss);
        self.quota -= bits_per_second(granted, rtt);
        granted
    }
}

/// The window of one connection at its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Advertised {
    window: u64,
    /// The end of the data that the sender may send: it never goes back.
    edge: u64,
    /// The first byte that the latest timed acknowledgement has permitted, and when it was sent.
    mark: Option<(u64, Time)>,
    rtt: Rtt,
    /// Bytes since the last look, and the measured throughput in bytes per second.
    bytes: u64,
    since: Time,
    measured: f64,
    /// Looks on end that found it far below the window.
    below: u32,
    increased: Time,
    past_slow_start: bool,
    latest: Time,
}

/// The sizes that a connection's window goes by.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub mss: u64,
    /// The receiver's buffer.
    pub most: u64,
}

impl Advertised {
    /// Of a connection that begins now.
    pub fn new(rules: &Ictcp, sizes: Sizes, now: Time) -> Advertised {
        let least = u64::from(rules.least) * sizes.mss;
        Advertised { window: least, edge: least, since: now, latest: now, ..Advertised::default() }
    }

    /// Data from that byte on arrives by an interface of that rate.
    pub fn on_data(
        &mut self,
        (seq, len): (u64, u32),
        (interface, rate): (&mut Interface, Rate),
        (rules, sizes): (&Ictcp, Sizes),
        now: Time,
    ) {
        if now - self.latest > rules.idle {
            let (rtt, edge) = (self.rtt, self.edge);
            *self = Advertised { rtt, edge, ..Advertised::new(rules, sizes, now) };
        }
        self.latest = now;
        if let Some((first, sent)) = self.mark
            && seq >= first
        {
            self.rtt.sample(now - sent);
            self.mark = None;
        }
        interface.on_data(len, self.rtt.smoothed(), rate, rules, now);
        self.bytes += u64::from(len);
        if let Some(rtt) = self.rtt.smoothed()
            && now - self.since >= rtt
        {
            self.look(rtt, interface, rules, sizes, now);
        }
    }

    /// Once a round trip: the window follows the throughput.
    fn look(&mut self, rtt: Time, interface: &mut Interface, rules: &Ictcp, sizes: Sizes, now: Time) {
        let rate = |bytes: f64, time: Time| bytes * SECOND as f64 / time.0.max(1) as f64;
        let sample = rate(self.bytes as f64, now - self.since);
        self.measured = sample.max(rules.smoothing * self.measured + (1.0 - rules.smoothing) * sample);
        (self.bytes, self.since) = (0, now);
        let expected = self.measured.max(rate(self.window as f64, rtt));
        let below = (expected - self.measured) / expected;
        let least = u64::from(rules.least) * sizes.mss;
        interface.windows += self.window;
        interface.looks += 1;
        if below <= rules.widen_below.max(sizes.mss as f64 / self.window as f64) {
            self.below = 0;
            self.widen(rtt, interface, sizes, now);
        } else if below > rules.narrow_above {
            self.past_slow_start = true;
            self.below += 1;
            if self.below >= rules.rounds {
                self.below = 0;
                self.window = (self.window - sizes.mss.min(self.window)).max(least);
            }
        } else {
            self.past_slow_start = true;
            self.below = 0;
        }
        // Windows are whole segments: those within one of the mean are equal, as that of a lone connection is, which the mean of
        // the last slot follows.
        let mean = interface.mean_window + sizes.mss as f64;
        if interface.scarce && self.window as f64 > mean && self.window > least {
            self.window = (self.window - sizes.mss).max(least);
        }
    }

    /// The window grows, twice as large in slow start and else by a segment, as far as the interface has rate left; once in
    /// two round trips.
    fn widen(&mut self, rtt: Time, interface: &mut Interface, sizes: Sizes, now: Time) {
        if self.increased > Time::ZERO && now - self.increased < Time(2 * rtt.0) {
            return;
        }
        let wanted = if self.past_slow_start { sizes.mss } else { self.window };
        let wanted = wanted.min(sizes.most.saturating_sub(self.window) / sizes.mss * sizes.mss);
        let granted = interface.take(wanted, sizes.mss, rtt);
        if granted > 0 {
            self.window += granted;
            self.increased = now;
            self.past_slow_start |= granted < wanted;
        }
    }

    /// An acknowledgement of all data up to a byte is sent: the end of the data that may follow.
    pub fn advertise(&mut self, in_order: u64, now: Time) -> u64 {
        let edge = in_order + self.window;
        if edge > self.edge {
            self.mark = self.mark.or(Some((self.edge, now)));
            self.edge = edge;
        }
        self.edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const SIZES: Sizes = Sizes { mss: MSS, most: 100_000 };
    /// 1 Gbps: 12.5 KB in 100 us.
    const LINK: Rate = Rate(1_000_000_000);
    const RTT: Time = Time(100_000_000);

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    /// A connection whose round trip is known to be 100 us, with that window, past slow start or in it.
    fn known(window: u64, past_slow_start: bool) -> Advertised {
        let mut rtt = Rtt::default();
        rtt.sample(RTT);
        Advertised { window, rtt, past_slow_start, ..Advertised::new(&Ictcp::default(), SIZES, Time::ZERO) }
    }

    /// An interface in the second half of its slot, with so much rate left in Mbps.
    fn widens(mbps: f64) -> Interface {
        Interface { half: Half::Widens, lasts: us(1_000_000), quota: mbps * 1e6, ..Interface::default() }
    }

    /// Looks once a round trip at a connection that receives so many bytes in each.
    fn looks(flow: &mut Advertised, interface: &mut Interface, bytes: &[u64]) {
        let rules = Ictcp::default();
        for (round, &bytes) in (1..).zip(bytes) {
            flow.bytes = bytes;
            flow.look(RTT, interface, &rules, SIZES, us(100 * round));
        }
    }

    /// 2 KB a round trip of 100 us are 160 Mbps. In slow start a window of 2 KB that is full doubles if 160 Mbps are left; with 100
    /// left it takes 1250 B of them, a segment, and is past slow start; with 79 nothing.
    #[test]
    fn a_full_window_grows_by_the_rate_that_is_left() {
        for (mbps, window, past, left) in
            [(400.0, 4000, false, 240.0), (100.0, 3000, true, 20.0), (79.0, 2000, false, 79.0)]
        {
            let (mut flow, mut interface) = (known(2000, false), widens(mbps));
            looks(&mut flow, &mut interface, &[2000]);
            assert_eq!((flow.window, flow.past_slow_start), (window, past), "{mbps}");
            assert!((interface.quota - left * 1e6).abs() < 1.0, "{mbps}: {}", interface.quota);
        }
    }

    /// Past slow start it grows by a segment, and not again before two round trips; in the half that measures not at all; and
    /// never above the buffer.
    #[test]
    fn growth_has_its_times() {
        let (mut flow, mut interface) = (known(10_000, true), widens(900.0));
        looks(&mut flow, &mut interface, &[10_000, 11_000, 11_000]);
        assert_eq!(flow.window, 12_000, "grows at 100 and 300 us");
        let mut measuring = Interface { half: Half::Measures, ..interface };
        let mut flow = known(10_000, true);
        looks(&mut flow, &mut measuring, &[10_000]);
        assert_eq!(flow.window, 10_000);
        let (mut flow, mut interface) = (known(100_000, true), widens(900.0));
        looks(&mut flow, &mut interface, &[100_000]);
        assert_eq!(flow.window, 100_000);
    }

    /// Of 10 KB a round trip, 9.0 are within a tenth: it grows. From 8.9 to 5 it stays. Below half, three times on end, it loses
    /// a segment; a round trip at 6 between begins the count anew. The smallest window is two segments.
    #[test]
    fn the_window_follows_the_throughput() {
        for (bytes, window) in [
            (&[9_000][..], 11_000),
            (&[8_900], 10_000),
            (&[5_000], 10_000),
            (&[4_900, 4_900], 10_000),
            (&[4_900, 4_900, 4_900], 9_000),
            (&[4_900, 4_900, 6_000, 4_900, 4_900], 10_000),
        ] {
            let (mut flow, mut interface) = (known(10_000, true), widens(900.0));
            looks(&mut flow, &mut interface, bytes);
            assert_eq!(flow.window, window, "{bytes:?}");
        }
        let (mut flow, mut interface) = (known(3_000, true), widens(900.0));
        looks(&mut flow, &mut interface, &[0; 9]);
        assert_eq!(flow.window, 2_000, "as low as two segments");
    }

    /// A throughput that rises counts at once, one that falls with a quarter: after 10 KB a round trip of 4 KB measures 8.5, and
    /// then 7.375.
    #[test]
    fn the_measured_throughput_falls_slowly() {
        let (mut flow, mut interface) = (known(20_000, true), widens(0.0));
        let mut measured = Vec::new();
        for round in 1..=3 {
            flow.bytes = if round == 1 { 10_000 } else { 4_000 };
            flow.look(RTT, &mut interface, &Ictcp::default(), SIZES, us(100 * round));
            measured.push((flow.measured * 1e-4).round());
        }
        assert_eq!(measured, [10_000.0, 8_500.0, 7_375.0]);
    }

    /// Windows of 10 and 4 KB, the mean 7: with little rate left the larger one loses a segment, the smaller none, nor one of 8.
    #[test]
    fn windows_above_the_mean_shrink_where_rate_is_scarce() {
        let mut interface = Interface { scarce: true, mean_window: 7_000.0, ..widens(0.0) };
        let windows = [10_000, 8_000, 4_000].map(|window| {
            let mut flow = known(window, true);
            looks(&mut flow, &mut interface, &[window - 400]);
            flow.window
        });
        assert_eq!(windows, [9_000, 8_000, 4_000]);
        assert_eq!((interface.windows, interface.looks), (22_000, 3));
    }

    /// 5 KB come within the first half, a fifth of them with a round trip of 200 us and the rest of 100: it lasts until 120 us,
    /// and by then 333 Mbps have been measured: of 900, 567 are left for a half as long. The next one measures anew.
    #[test]
    fn the_halves_of_a_slot() {
        let (mut interface, rules) = (Interface::default(), Ictcp::default());
        let start = us(1000);
        let comes = |interface: &mut Interface, rtt, at: u64| {
            interface.on_data(1000, Some(us(rtt)), LINK, &rules, start + us(at));
            interface.half
        };
        comes(&mut interface, 200, 0);
        (0..4).for_each(|_| assert_eq!(comes(&mut interface, 100, 119), Half::Measures));
        assert_eq!(comes(&mut interface, 100, 120), Half::Widens);
        assert!(
            (interface.quota - (900e6 - 40_000.0 / 120e-6)).abs() < 1.0 && !interface.scarce,
            "{interface:?}"
        );
        assert_eq!(comes(&mut interface, 100, 239), Half::Widens);
        assert_eq!(comes(&mut interface, 100, 240), Half::Measures);
        assert_eq!((interface.bytes, interface.since), (1000, start + us(240)));
    }

    /// Acknowledgements at 0 and 10 us permit bytes from 2000 and 3000 on: the first of them comes at 130 us, so that the round
    /// trip is 130 us. A window that shrinks takes no permission back.
    #[test]
    fn the_round_trip_is_that_of_permitted_data() {
        let (mut flow, mut interface) = (Advertised::new(&Ictcp::default(), SIZES, Time::ZERO), widens(0.0));
        let rules = Ictcp::default();
        assert_eq!(flow.advertise(1000, Time::ZERO), 3000);
        assert_eq!(flow.advertise(2000, us(10)), 4000);
        flow.on_data((1000, 1000), (&mut interface, LINK), (&rules, SIZES), us(20));
        assert_eq!(flow.rtt.smoothed(), None);
        flow.on_data((2000, 1000), (&mut interface, LINK), (&rules, SIZES), us(130));
        assert_eq!(flow.rtt.smoothed(), Some(us(130)));
        flow.window = 1000;
        assert_eq!(flow.advertise(2500, us(140)), 4000);
    }

    /// After more than 2 s without data a connection has the window of a new one, and what it has permitted.
    #[test]
    fn an_idle_connection_begins_anew() {
        let rules = Ictcp::default();
        for (idle_s, window) in [(1, 50_000), (3, 2_000)] {
            let mut flow = Advertised { edge: 90_000, ..known(50_000, true) };
            let now = Time(idle_s * SECOND);
            // Not looked at: the last look is this moment.
            flow.since = now;
            flow.on_data((0, 1000), (&mut widens(0.0), LINK), (&rules, SIZES), now);
            assert_eq!((flow.window, flow.edge), (window, 90_000));
        }
    }
}
