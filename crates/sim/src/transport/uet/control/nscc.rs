//! NSCC, the sender's control of Ultra Ethernet: a window that answers to marks and to queueing delay.
//!
//! Source: the public simulator (uet-htsim, `-sender_cc_only`), which follows SMaRTT (Bonato et al., arXiv 2404.01630). Of each
//! acknowledgement, mark and delay decide between four cases: fair increase, proportional increase, multiplicative decrease,
//! no change. Quick Adapt cuts the window to the bytes of one period if that period brought few of them.
//!
//! All results are cut to whole bytes at each assignment. The simulator's sum of increases is a number of 32 bits, and wraps from
//! a bandwidth-delay product of about 633 kB on; here it has 64.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Acked, Nacked, Network, React, Settings, Window};
use crate::derived::{Derived, Values};
use crate::transport::uet::delay::Delays;
use crate::transport::uet::scale::{Scale, bytes_within};
use crate::units::{Rate, Time};

/// NSCC: the sender's window follows marks and queueing delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nscc {
    /// Target of the queueing delay. "derived": three quarters of the network's round trip, the whole of it where ports do not
    /// trim (uet-htsim: -target_q_delay).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub target_delay: Derived<Time>,
    /// Whether a period that brings few bytes cuts the window to them.
    pub quick_adapt: bool,
    /// Few are less than the largest window divided by 2 to this power (uet-htsim: -qa_gate).
    #[schemars(range(max = 30))]
    pub quick_adapt_gate: u32,
    /// Without a trimmed packet, a queueing delay above so many targets is needed, too.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub quick_adapt_threshold: f64,
    /// Packets that the window gains in a round trip above the target without marks, for a path of the reference.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub fair_increase: f64,
    /// Packets that it gains below the target, for a delay of zero.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub proportional_increase: f64,
    /// Packets that it gains in each round trip in any case.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub eta: f64,
    /// Share of received bytes by which it grows while there is no delay.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub fast_increase: f64,
    /// Delay below which there is none.
    #[schemars(extend("x-maximum" = "1s"))]
    pub fast_below: Time,
    /// Strength of the multiplicative decrease.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decrease: f64,
    /// Largest share of the window that a decrease takes.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_decrease: f64,
    /// Weight of a sample in the average of the queueing delay.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub delay_gain: f64,
    /// Rate of the path for which the increases hold; they grow with the bandwidth-delay product.
    #[schemars(extend("x-minimum" = "1Mbps"))]
    pub reference_rate: Rate,
    /// Round trip of that path.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub reference_rtt: Time,
}

impl Default for Nscc {
    fn default() -> Self {
        Nscc {
            target_delay: Derived::FromNetwork,
            quick_adapt: true,
            quick_adapt_gate: 3,
            quick_adapt_threshold: 4.0,
            fair_increase: 5.0,
            proportional_increase: 4.0,
            eta: 0.15,
            fast_increase: 0.25,
            fast_below: Time::from_us(1),
            decrease: 0.8,
            max_decrease: 0.5,
            delay_gain: 0.0125,
            reference_rate: Rate(100_000_000_000),
            reference_rtt: Time::from_us(12),
        }
    }
}

impl Settings for Nscc {
    fn window(&self, scale: &Scale) -> Window {
        Window::Nscc(Model::new(self, scale, false))
    }

    fn nscc(&self) -> Option<&Nscc> {
        Some(self)
    }

    fn derived(&self, network: &Network) -> Values {
        let rtt = network.rtt;
        let target = if network.trimming { Time(rtt.0 * 3 / 4) } else { rtt };
        match self.target_delay {
            Derived::FromNetwork => vec![("target_delay".into(), json!(target))],
            Derived::Given(_) => Vec::new(),
        }
    }
}

/// The window grows by what has been collected once so many full packets have arrived.
const COLLECTED_PACKETS: u64 = 8;

/// The window of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    /// Collected for each received byte above the target.
    fair: f64,
    /// The same below the target, for each picosecond of the difference.
    proportional: f64,
    eta: f64,
    fast: f64,
    fast_below: Time,
    decrease: f64,
    least_kept: f64,
    quick_adapt: Option<(u32, f64)>,
    mtu: u64,
    min_window: i64,
    /// Whether the receiver paces the flow as well: a trim at its own port then does not count.
    paced: bool,

    window: i64,
    /// Increase so far, times the window by which it will be divided.
    collected: u64,
    /// Bytes received since it was last applied.
    counted: u64,
    /// Bytes received without delay, and whether that makes the window grow at once.
    undelayed: i64,
    growing: bool,
    eta_at: Time,
    decreased_at: Time,
    adapt: Adapt,
}

/// The state of Quick Adapt.
#[derive(Clone, Copy, Debug, Default)]
struct Adapt {
    /// The end of the period; zero before the first one.
    end: Time,
    /// Bytes received in it.
    achieved: u64,
    /// Whether a packet was trimmed since the last cut.
    trimmed: bool,
    /// Bytes in flight at the last cut, and those that have come since: marks of these do not count.
    to_ignore: i64,
    ignored: i64,
}

impl Model {
    /// Of a flow that starts. The clocks of the gains start at time zero, whenever that is.
    pub fn new(config: &Nscc, scale: &Scale, paced: bool) -> Model {
        let payload = f64::from(scale.payload);
        let reference = bytes_within(config.reference_rate, config.reference_rtt);
        let times = scale.bdp() as f64 / reference as f64;
        Model {
            fair: config.fair_increase * payload * times,
            proportional: config.proportional_increase * payload * times / config.reference_rtt.0 as f64,
            eta: config.eta * payload * times,
            fast: config.fast_increase * times,
            fast_below: config.fast_below,
            decrease: config.decrease,
            least_kept: 1.0 - config.max_decrease,
            quick_adapt: config
                .quick_adapt
                .then_some((config.quick_adapt_gate, config.quick_adapt_threshold)),
            mtu: u64::from(scale.mtu),
            min_window: scale.min_window as i64,
            paced,
            window: scale.first_window() as i64,
            collected: 0,
            counted: 0,
            undelayed: 0,
            growing: false,
            eta_at: Time::ZERO,
            decreased_at: Time::ZERO,
            adapt: Adapt::default(),
        }
    }

    fn clamp(&mut self, delays: &Delays) {
        self.window = self.window.min(delays.max_window as i64).max(self.min_window);
    }

    /// Below the target and without a mark: with no delay at all for a window of bytes, the window grows at once.
    fn increase(&mut self, ack: &Acked, delays: &Delays) {
        if ack.delay < self.fast_below {
            self.undelayed += ack.received as i64;
            if self.undelayed > self.window || self.growing {
                self.window = (self.window as f64 + ack.received as f64 * self.fast) as i64;
                self.growing = true;
                return;
            }
        } else {
            self.undelayed = 0;
        }
        self.growing = false;
        let below = (delays.target().0 - ack.delay.0) as f64;
        self.collected = (self.collected as f64 + self.proportional * ack.received as f64 * below) as u64;
    }

    /// Above the target and with a mark: once in a round trip, if the average is above the target as well.
    fn reduce(&mut self, now: Time, delays: &Delays) {
        self.growing = false;
        self.undelayed = 0;
        let (average, target) = (delays.average, delays.target());
        if average > target && now - self.decreased_at > delays.base_rtt {
            let above = (average.0 - target.0) as f64 / average.0 as f64;
            let kept = (1.0 - self.decrease * above).max(self.least_kept);
            self.window = ((self.window as f64 * kept) as i64).max(self.min_window);
            self.decreased_at = now;
        }
    }

    /// The window takes in what has been collected, and once in a round trip a little more.
    fn fulfil(&mut self, now: Time, delays: &Delays) {
        let since = now - self.eta_at;
        if self.counted <= COLLECTED_PACKETS * self.mtu && since <= delays.network_rtt() {
            return;
        }
        self.window += (self.collected / self.window as u64) as i64;
        if since >= delays.network_rtt() {
            self.window = (self.window as f64 + self.eta) as i64;
            self.eta_at = now;
        }
        (self.collected, self.counted) = (0, 0);
        self.clamp(delays);
    }

    /// Whether this answer is done with: it has cut the window, or comes from before the last cut.
    fn adapts(&mut self, now: Time, trimmed: bool, answer: (bool, Time, i64), delays: &Delays) -> bool {
        let Some((gate, threshold)) = self.quick_adapt else { return false };
        let (marked, delay, in_flight) = answer;
        let adapt = &mut self.adapt;
        let mut done = false;
        if adapt.ignored < adapt.to_ignore && marked {
            done = true;
        } else if now > adapt.end {
            let late = delay.0 as f64 > threshold * delays.target().0 as f64;
            let few = adapt.achieved < delays.max_window >> gate;
            if adapt.end != Time::ZERO && (adapt.trimmed || trimmed || late) && few {
                self.window = (adapt.achieved as i64).max(self.min_window);
                (adapt.to_ignore, adapt.ignored, adapt.trimmed) = (in_flight, 0, false);
                done = true;
            }
            adapt.achieved = 0;
            adapt.end = now + delays.base_rtt + delays.target();
        }
        if done {
            (self.collected, self.counted) = (0, 0);
        }
        done
    }
}

impl React for Model {
    fn on_ack(&mut self, ack: &Acked, delays: &Delays) {
        self.adapt.achieved += ack.received;
        self.counted += ack.received;
        self.adapt.ignored += ack.received as i64;
        if self.adapts(ack.now, false, (ack.marked, ack.delay, ack.in_flight), delays) {
            return;
        }
        match (ack.marked, ack.delay >= delays.target()) {
            (false, true) => {
                self.collected = (self.collected as f64 + self.fair * ack.received as f64) as u64
            }
            (false, false) => self.increase(ack, delays),
            (true, true) => self.reduce(ack.now, delays),
            (true, false) => {}
        }
        self.clamp(delays);
        self.fulfil(ack.now, delays);
    }

    fn on_nack(&mut self, nack: &Nacked, delays: &Delays) {
        self.adapt.ignored += i64::from(nack.bytes);
        self.adapt.trimmed = true;
        let done = self.adapts(nack.now, true, (true, Time::ZERO, nack.in_flight), delays);
        let at_own_port = self.paced && nack.last_hop;
        if !done && !at_own_port {
            self.window -= i64::from(nack.bytes);
            self.clamp(delays);
        }
    }

    fn on_timeout(&mut self, bytes: u32) {
        self.window = (self.window - i64::from(bytes)).max(self.min_window);
    }

    #[inline]
    fn bytes(&self) -> i64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::uet::settings::Uet;
    use crate::transport::uet::wire::BITMAP_BITS;
    use crate::units::Bytes;

    /// 100 Gbps and 14.02272 us, target 10.51704 us: bandwidth-delay product 175,284 B, largest window 262,926 B.
    fn model(window: u64, paced: bool) -> (Model, Delays) {
        let uet = Uet {
            network_rtt: Derived::Given(Time(14_022_720)),
            control: Nscc { target_delay: Derived::Given(Time(10_517_040)), ..Nscc::default() }.into(),
            initial_window: Some(Bytes(window)),
            ..Uet::default()
        };
        assert_eq!(uet.bitmap_bits, BITMAP_BITS);
        let scale = uet.scale(Rate(100_000_000_000), uet.network_rtt());
        (Model::new(&Nscc::default(), &scale, paced), Delays::new(scale, 0.0125))
    }

    fn ack(now_us: u64, marked: bool, delay: Time, received: u64) -> Acked {
        Acked { now: Time::from_us(now_us), marked, delay, received, in_flight: 0 }
    }

    fn nack(now_us: u64, last_hop: bool) -> Nacked {
        Nacked { now: Time::from_us(now_us), bytes: 4150, in_flight: 100_000, last_hop }
    }

    /// Above the target without marks: 5 x 4086 x 1.16856 = 23873.6808 for each byte, cut after each ACK of 16600 B. After the
    /// third more than 33,200 B have come: 1,188,909,303 / 100,000.
    #[test]
    fn fair_increase() {
        let (mut model, delays) = model(100_000, false);
        for (count, window) in [(1, 100_000), (2, 100_000), (3, 111_889)] {
            model.on_ack(&ack(5, false, delays.target(), 16_600), &delays);
            assert_eq!(model.bytes(), window, "after {count}");
        }
    }

    /// 2 us of delay: 4 x 4086 x 1.16856 / 12 us x 16600 B x 8.51704 us = 225,021,956.99 for each ACK.
    #[test]
    fn proportional_increase() {
        let (mut model, delays) = model(100_000, false);
        for _ in 0..3 {
            model.on_ack(&ack(5, false, Time::from_us(2), 16_600), &delays);
        }
        assert_eq!(model.bytes(), 100_000 + 675_065_868 / 100_000);
    }

    /// Without delay the window grows at once when more bytes than it have come: by 0.29214 of 16600 B. A delay ends that.
    #[test]
    fn fast_increase() {
        let (mut model, delays) = model(100_000, false);
        let step = |model: &mut Model, delay| {
            let before = model.bytes();
            model.on_ack(&ack(5, false, delay, 16_600), &delays);
            model.bytes() - before
        };
        let steps: Vec<_> = (0..8).map(|_| step(&mut model, Time::ZERO)).collect();
        assert!(steps[..6].iter().all(|&step| step != 4849), "{steps:?}");
        assert_eq!(steps[7], 4849);
        step(&mut model, Time::from_us(3));
        assert_ne!(step(&mut model, Time::ZERO), 4849);
    }

    /// Twice the target on average takes 0.8 x 1/2 of the window, a hundred times the target half of it; once in a base round
    /// trip. Each of these ACKs comes a round trip after the last and brings eta, 716.21 B.
    #[test]
    fn multiplicative_decrease() {
        for (times, left) in [(2, 120_000), (100, 100_000)] {
            let (mut model, mut delays) = model(200_000, false);
            delays.average = Time(times * delays.target().0);
            model.on_ack(&ack(20, true, delays.target(), 4150), &delays);
            assert_eq!(model.bytes(), left + 716);
            model.on_ack(&ack(30, true, delays.target(), 4150), &delays);
            assert_eq!(model.bytes(), left + 716, "10 us later");
        }
        // Below the target on average, or for this packet, nothing changes but eta.
        let (mut model, mut delays) = model(200_000, false);
        model.on_ack(&ack(20, true, delays.target(), 4150), &delays);
        delays.average = Time(2 * delays.target().0);
        model.on_ack(&ack(21, true, Time::ZERO, 4150), &delays);
        assert_eq!(model.bytes(), 200_716);
    }

    /// The window stays between a packet and 1.5 bandwidth-delay products, and follows these down.
    #[test]
    fn saturation() {
        let (mut model, mut delays) = model(262_926, false);
        model.on_ack(&ack(20, false, delays.target(), 4150), &delays);
        assert_eq!(model.bytes(), 262_926);
        delays.lower_base(Time(7_011_360));
        model.on_ack(&ack(20, false, delays.target(), 4150), &delays);
        assert_eq!((delays.max_window, model.bytes()), (131_463, 131_463));
        (0..50).for_each(|_| model.on_timeout(4150));
        assert_eq!(model.bytes(), 4150);
    }

    /// A trimmed packet takes its bytes; under both controls not if that was at the receiver's port.
    #[test]
    fn trimmed_packets_take_their_bytes() {
        for (paced, last_hop, window) in [(false, true, 95_850), (true, false, 95_850), (true, true, 100_000)]
        {
            let (mut model, delays) = model(100_000, paced);
            model.on_nack(&nack(1, last_hop), &delays);
            assert_eq!(model.bytes(), window, "paced: {paced}, at the last hop: {last_hop}");
        }
    }

    /// The first answer, at 1 us, starts a period of 24.53976 us. A packet was trimmed, and 8300 B have come: the window is that.
    /// Marks of the 100,000 B that were in flight then do not count, nor do trims; after them they do.
    #[test]
    fn quick_adapt() {
        let (mut model, mut delays) = model(200_000, false);
        model.on_nack(&nack(1, false), &delays);
        assert_eq!(model.bytes(), 195_850);
        model.on_ack(&ack(25, false, Time::from_us(9), 4150), &delays);
        assert!(model.bytes() > 195_000, "the period has not ended");
        let last = Acked { in_flight: 100_000, ..ack(26, false, Time::from_us(9), 4150) };
        model.on_ack(&last, &delays);
        assert_eq!(model.bytes(), 8300);
        delays.average = Time(2 * delays.target().0);
        model.on_nack(&nack(45, false), &delays);
        model.on_ack(&ack(45, true, delays.target(), 95_000), &delays);
        assert_eq!(model.bytes(), 8300, "99,150 B have come");
        model.on_ack(&ack(46, true, delays.target(), 4150), &delays);
        assert!(model.bytes() < 8300, "{}", model.bytes());
    }

    /// A period with an eighth of the largest window, 32,865 B, is not short of bytes; nor does one cut without a trim or a long
    /// delay.
    #[test]
    fn quick_adapt_needs_a_reason() {
        for (bytes, trimmed, adapts) in [(32_865, true, false), (32_864, true, true), (32_864, false, false)]
        {
            let (mut model, delays) = model(200_000, false);
            model.on_ack(&ack(1, false, Time::from_us(9), 4150), &delays);
            if trimmed {
                model.on_nack(&nack(2, false), &delays);
            }
            model.on_ack(&ack(26, false, Time::from_us(9), bytes), &delays);
            assert_eq!(model.bytes() < 33_000, adapts, "{bytes} B, {trimmed}");
        }
    }
}
