//! The configuration of dcPIM, and its properties for the check and the records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::clock::Clock;
use super::tokens::Rules;
use crate::balancer::per_packet::PerPacket;
use crate::derived::{Derived, Environment, Values, bytes_in};
use crate::queue::strict_priority::{MarkBy, StrictPriority};
use crate::queue::{Feature, Limit};
use crate::transport::backoff::{DOUBLINGS_MOST, INTERVAL_LEAST, derived_interval};
use crate::transport::tokened::Format;
use crate::transport::{Framing, Needs, Profile, Settings};
use crate::units::{Bytes, Rate, Time};

/// dcPIM. A channel is a share of a host's link for one data phase: one of `channels` equal ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dcpim {
    /// Payload of a full packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub mss: Bytes,
    /// Header of every packet; packets without payload have no further bytes.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Whether a short last packet is as long on the wire as a full one (Terabit-Ethernet/dcPIM: yes).
    pub pad_last: bool,
    /// r, rounds of a matching: requests, grants, accepts.
    #[schemars(range(min = 1, max = 16))]
    pub rounds: u32,
    /// k, channels of a host.
    #[schemars(range(min = 1, max = 16))]
    pub channels: u32,
    /// Length of a round, in control round trips.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub beta: f64,
    /// Length of a data phase, in matchings (below 1 matchings would overlap, which is not modelled).
    #[schemars(range(min = 1.0, max = 100.0))]
    pub alpha: f64,
    /// Flows of at most so many packets are sent at once, without tokens. "bdp": as many as fill the longest path between hosts
    /// if full packets go both ways.
    #[schemars(extend("maximum" = 1_000_000))]
    pub short: Derived<u32>,
    /// Rounds of a matching, the first ones, in which the flow with the fewest packets left goes first; in the others it is a random
    /// one.
    #[schemars(range(max = 16))]
    pub srpt_rounds: u32,
    /// Tokens of a flow that no packet has answered, at most one more, if its sender has all channels; with fewer it is their
    /// share. "bdp": as for `short`.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000))]
    pub token_window: Derived<u32>,
    /// Whether channels that are free in the running data phase are used as soon as they are matched.
    pub prompt: bool,
    /// Classes of data at ports, from 1 on, by the size of the flow: up to 7 packets, 49, 343 and so on; packets without payload
    /// have class 0, which goes first.
    #[schemars(range(min = 1, max = 7))]
    pub data_classes: u8,
    /// The round trip of packets without payload, of which rounds are made, the same for all hosts. "derived": over the longest
    /// path between hosts.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub control_round_trip: Derived<Time>,
    /// Time from the last token of a full window to one more. "derived": 1.1 times that of as many packets as fill the longest path
    /// (Terabit-Ethernet/dcPIM).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub window_timeout: Derived<Time>,
    /// Time from the last token of a flow, and from the time that the packets of a short flow take, to tokens for those that are
    /// missing. "derived": that of as many packets as fill the longest path (Terabit-Ethernet/dcPIM).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub resend: Derived<Time>,
    /// Time without a token after which a sender repeats its request (ours: requests are not lost in Terabit-Ethernet/dcPIM), doubled
    /// each time, up to 64 times. "derived": ten of the longest round trips, and at least 1 ms.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub request_interval: Derived<Time>,
}

impl Default for Dcpim {
    fn default() -> Self {
        Dcpim {
            mss: Bytes(1460),
            header_bytes: Bytes(40),
            pad_last: false,
            rounds: 4,
            channels: 4,
            beta: 1.3,
            alpha: 1.0,
            short: Derived::FromNetwork,
            srpt_rounds: 1,
            token_window: Derived::FromNetwork,
            prompt: true,
            data_classes: 6,
            control_round_trip: Derived::FromNetwork,
            window_timeout: Derived::FromNetwork,
            resend: Derived::FromNetwork,
            request_interval: Derived::FromNetwork,
        }
    }
}

/// The values of Terabit-Ethernet/dcPIM for 144 hosts at 100 Gbps, if no network gives others.
const CONTROL_ROUND_TRIP: Time = Time(5_216_000);
const BDP: u32 = 49;
const BDP_TIME: Time = Time(5_880_000);
const WINDOW_TIMEOUT: Time = Time(6_468_000);

/// The limit of ports by default: that of Terabit-Ethernet/dcPIM.
const QUEUE: Limit = Limit::Bytes(Bytes(500_000));

/// The longest times that a field takes.
const CONTROL_MOST: Time = Time(1_000_000_000_000);
const WAIT_MOST: Time = Time(10_000_000_000_000);

/// The greatest packets of a class are these times those of the one before, from so many on.
const CLASS_STEP: u64 = 7;

/// Values that a network determines.
struct OfNetwork {
    /// Round trip of packets without payload.
    control: Time,
    /// Packets that fill the longest path, and their time at its hosts.
    bdp: u32,
    bdp_time: Time,
}

impl Dcpim {
    fn full(&self) -> u64 {
        self.mss.0 + self.header_bytes.0
    }

    fn of_network(&self, environment: &Environment) -> OfNetwork {
        let longest = &environment.longest;
        // The longest round trip is one of a full packet and a header: what is no delay is in proportion to their bytes.
        let (full, control) = (self.full(), self.header_bytes.0);
        let both_ways = |bytes: u64| {
            let sent = u128::from(longest.round_trip.saturating_sub(longest.delay).0);
            let sent = sent * u128::from(2 * bytes) / u128::from(full + control);
            longest.delay.saturating_add(Time(u64::try_from(sent).unwrap_or(u64::MAX)))
        };
        let bdp = bytes_in(longest.rate, both_ways(full)).div_ceil(full).clamp(1, 1_000_000) as u32;
        let rate = Rate(longest.rate.0.max(1));
        OfNetwork {
            control: both_ways(control).clamp(Time(1000), CONTROL_MOST),
            bdp,
            bdp_time: rate.transmission(u64::from(bdp) * full).clamp(Time(1000), WAIT_MOST),
        }
    }

    pub(super) fn plan(self) -> Plan {
        let control = self.control_round_trip.or(CONTROL_ROUND_TRIP);
        let round = Time((control.0 as f64 * self.beta).round() as u64);
        let format = Format {
            payload: self.mss.0,
            full: self.full() as u32,
            control: self.header_bytes.0 as u32,
            pad_last: self.pad_last,
            request_interval: self.request_interval.or(INTERVAL_LEAST),
        };
        Plan {
            format,
            short: self.short.or(BDP),
            data_classes: self.data_classes,
            clock: Clock::new(round, self.rounds, self.alpha),
            one_way: Time(control.0 / 2),
            srpt_rounds: u64::from(self.srpt_rounds),
            prompt: self.prompt,
            rules: Rules {
                window: self.token_window.or(BDP),
                channels: self.channels,
                window_timeout: self.window_timeout.or(WINDOW_TIMEOUT),
                resend: self.resend.or(BDP_TIME),
            },
        }
    }
}

impl Settings for Dcpim {
    fn profile(&self) -> Profile {
        let interval = self.request_interval.or(INTERVAL_LEAST);
        let (short, window) = (self.short.or(BDP), self.token_window.or(BDP));
        let framing = Framing { payload: self.mss.0, header: self.header_bytes.0, pad_last: self.pad_last };
        Profile {
            framing: Some(framing),
            answer_bytes: self.header_bytes.0,
            marks_unscheduled: short > 0,
            class_field: Some("data_classes"),
            timeout_max: Time(interval.0 << DOUBLINGS_MOST),
            initial_burst: Some(u64::from(short)),
            in_flight_max: Some(u64::from(window.saturating_add(1).max(short))),
            host_fields: vec![
                ("rounds", json!(self.rounds)),
                ("channels", json!(self.channels)),
                ("beta", json!(self.beta)),
                ("alpha", json!(self.alpha)),
                ("srpt_rounds", json!(self.srpt_rounds)),
                ("token_window", json!(self.token_window)),
                ("prompt", json!(self.prompt)),
                ("control_round_trip", json!(self.control_round_trip)),
                ("window_timeout", json!(self.window_timeout)),
                ("resend", json!(self.resend)),
            ],
            queue: StrictPriority { mark: MarkBy::None, limit: QUEUE, ..StrictPriority::default() }.into(),
            balancer: PerPacket {}.into(),
            ..Profile::new(self.mss.0, self.header_bytes.0)
        }
    }

    fn needs(&self) -> Needs {
        Needs { features: vec![Feature::Classes], ..Needs::default() }
    }

    fn derived(&self, environment: &Environment) -> Values {
        let network = self.of_network(environment);
        let longer = Time((network.bdp_time.0 / 10).saturating_mul(11).clamp(1000, WAIT_MOST.0));
        let mut values = Values::new();
        for (field, own) in [("short", self.short), ("token_window", self.token_window)] {
            if own == Derived::FromNetwork {
                values.push((field.into(), json!(network.bdp)));
            }
        }
        for (field, own, value) in [
            ("control_round_trip", self.control_round_trip, network.control),
            ("window_timeout", self.window_timeout, longer),
            ("resend", self.resend, network.bdp_time),
        ] {
            if own == Derived::FromNetwork {
                values.push((field.into(), json!(value)));
            }
        }
        values.extend(derived_interval("request_interval", self.request_interval, environment));
        values
    }
}

/// A configuration in the form in which events read it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub format: Format,
    /// Packets of flows that go without tokens, at most.
    pub short: u32,
    data_classes: u8,
    pub clock: Clock,
    /// Half a control round trip.
    pub one_way: Time,
    pub srpt_rounds: u64,
    pub prompt: bool,
    pub rules: Rules,
}

impl Plan {
    /// Packets of a flow that go without tokens: all or none.
    pub fn free(&self, packets: u32) -> u32 {
        if packets <= self.short { packets } else { 0 }
    }

    /// The class of the data of a flow.
    pub fn class(&self, packets: u32) -> u8 {
        let (mut class, mut most) = (1, CLASS_STEP);
        while class < self.data_classes && u64::from(packets) > most {
            (class, most) = (class + 1, most * CLASS_STEP);
        }
        class
    }

    /// Packets of a channel in a data phase, of a link on which one takes so long.
    pub fn per_channel(&self, packet: Time) -> u32 {
        let time = u64::from(self.rules.channels) * packet.0;
        u32::try_from(self.clock.phase().0 / time.max(1)).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::{Longest, settle};
    use crate::routing::Routes;
    use crate::scenario::{Format, no_files, read};
    use crate::transport::Transport;

    /// The plan on that network.
    fn plan(topology: &str) -> Plan {
        let text = format!(
            "transport = \"dcpim\"\n{topology}\n[[traffic]]\nname = \"a\"\narrivals = \"at-once\"\nmatrix = \"permutation\"\nsizes.fixed = \"1MB\""
        );
        let fabric = read(&text, Format::Toml, &[], &no_files).expect("a scenario").topology.build();
        let routes = Routes::build(&fabric).expect("a connected network");
        let environment = Environment {
            longest: Longest::new(&fabric, &routes, 1500, 40),
            nearest_delay: Time::ZERO,
            marks_last_hop: true,
            marks_as_share: false,
            port_bytes: None,
            oversubscription: 1.0,
            demands: Vec::new(),
        };
        let values = Dcpim::default().derived(&environment);
        let Transport::Dcpim(settled) = settle(&Transport::Dcpim(Dcpim::default()), "dcpim", &values) else {
            panic!("another transport")
        };
        settled.plan()
    }

    /// LIT-DCPIM-1: 144 hosts at 100 Gbps and a core of 400 Gbps, 650 ns per cable: a control round trip of 5.216 us, rounds of
    /// 6.781 us, phases of 27.12 us, 49 packets that fill the path of 5.8 us, 56 packets a channel.
    #[test]
    fn constants_follow_from_the_network() {
        let plan = plan(
            "[topology.leaf-spine]\nleaves = 9\nspines = 4\nhosts = 16\nrate = \"100Gbps\"\ndelay = \"650ns\"\nspine.rate = \"400Gbps\"",
        );
        assert_eq!((plan.one_way, plan.short, plan.rules.window), (Time(2_608_000), 49, 49));
        assert_eq!((plan.clock.halfway(0), plan.clock.phase()), (Time(3_390_400), Time(27_123_200)));
        assert_eq!(plan.per_channel(Time::from_ns(120)), 56);
        assert_eq!((plan.rules.resend, plan.rules.window_timeout), (BDP_TIME, WINDOW_TIMEOUT));
        assert_eq!(plan.one_way.0 * 2, CONTROL_ROUND_TRIP.0);
    }

    /// Classes by powers of seven, as many as there are.
    #[test]
    fn classes_are_by_size() {
        let of = |data_classes, sizes: [u32; 8]| {
            let plan = Dcpim { data_classes, ..Dcpim::default() }.plan();
            sizes.map(|packets| plan.class(packets))
        };
        let sizes = [1, 7, 8, 49, 343, 344, 16_807, 16_808];
        assert_eq!(of(6, sizes), [1, 1, 2, 2, 3, 4, 5, 6]);
        assert_eq!(of(7, [16_807, 16_808, 117_649, 117_650, u32::MAX, 1, 1, 1]), [5, 6, 6, 7, 7, 1, 1, 1]);
        assert_eq!(of(2, sizes), [1, 1, 2, 2, 2, 2, 2, 2]);
    }
}
