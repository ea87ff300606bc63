//! Fields that a scenario gives or leaves to the network: windows, timeouts and thresholds that fit one network only.
//!
//! Such a field is a value or a word, `"bdp"` for windows and `"derived"` for the rest. [`settle`] puts
//! values in the place of words when a run is set up; they follow from the [`Environment`], the paths of the network and
//! the traffic.
//! The members of the lists compute the values, each with its source (`derived` of their `Settings`).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::ids::NodeId;
use crate::random::{Purpose, Stream};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::traffic::Demand;
use crate::units::{Bytes, Rate, SECOND, Time};

/// A value, or the word that leaves it to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived<T> {
    /// The scenario's.
    Given(T),
    /// It follows from the network.
    FromNetwork,
}

/// Fields that may be left to the network.
pub trait Derivable: Copy {
    /// The word that does so.
    const WORD: &'static str;
}

impl Derivable for u32 {
    const WORD: &'static str = "bdp";
}

impl Derivable for Time {
    const WORD: &'static str = "derived";
}

impl Derivable for Bytes {
    const WORD: &'static str = "derived";
}

impl Derivable for f64 {
    const WORD: &'static str = "derived";
}

impl Derivable for bool {
    const WORD: &'static str = "derived";
}

impl<T: Derivable> Derived<T> {
    /// The value; or that of small networks, below which none is derived, as long as it has not been settled.
    #[inline]
    pub fn or(self, least: T) -> T {
        match self {
            Derived::Given(value) => value,
            Derived::FromNetwork => least,
        }
    }

    /// The value, if the scenario gives it.
    pub fn given(self) -> Option<T> {
        match self {
            Derived::Given(value) => Some(value),
            Derived::FromNetwork => None,
        }
    }
}

impl<T: Serialize + Derivable> Serialize for Derived<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Derived::Given(value) => value.serialize(serializer),
            Derived::FromNetwork => serializer.serialize_str(T::WORD),
        }
    }
}

impl<'de, T: Deserialize<'de> + Derivable> Deserialize<'de> for Derived<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either<T> {
            Given(T),
            Word(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Given(value) => Ok(Derived::Given(value)),
            Either::Word(word) if word == T::WORD => Ok(Derived::FromNetwork),
            Either::Word(word) => {
                Err(serde::de::Error::custom(format!("\"{word}\" is neither a value nor \"{}\"", T::WORD)))
            }
        }
    }
}

impl<T: JsonSchema + Derivable> JsonSchema for Derived<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Derived{}", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [generator.subschema_for::<T>(), { "type": "string", "const": T::WORD }],
        })
    }
}

/// The network and the traffic of a member, from which its fields may follow.
#[derive(Clone, Debug)]
pub struct Environment<'a> {
    /// The longest paths, to the packets of the transport.
    pub longest: Longest,
    /// Delays of the cables of a path of two links between hosts, the shortest that there may be, there and back.
    pub nearest_delay: Time,
    /// Whether all transports let the ports to hosts mark.
    pub marks_last_hop: bool,
    /// Whether all transports that read marks take them for a share of their packets, as DCTCP does: ports then mark all
    /// above one threshold.
    pub marks_as_share: bool,
    /// Most bytes of full packets that a port of a switch holds, if that is limited.
    pub port_bytes: Option<u64>,
    /// By how much the hosts together are faster than the narrowest tier of the network, at least 1.
    pub oversubscription: f64,
    /// The traffic entries that it carries, each with the number of its flows.
    pub demands: Vec<(&'a Demand, u64)>,
}

/// Draws that stand for the sizes of an entry's flows: of heavy tails, too, the mean is within some percent.
const SIZES_DRAWN: u64 = 200_000;

impl Environment<'_> {
    /// Sizes of flows, each with the number of flows that it stands for: draws of each entry's distribution, by streams
    /// that do not depend on the seed, so that the replicas of a run derive the same. Flows without an end have no size, and
    /// those of a workload that follows a program are not drawn.
    pub fn sizes(&self) -> Vec<(u64, f64)> {
        let of = |(index, (demand, flows)): (usize, &(&Demand, u64))| {
            let drawn = demand.workload.offers().map(|offer| &offer.sizes).filter(|sizes| !sizes.endless());
            let stream = Stream::new(0, 0, Purpose::Sizes, index as u64);
            let draws = drawn.map(|drawn| drawn.draws(stream).take(SIZES_DRAWN as usize).collect());
            let sizes: Vec<u64> = draws.unwrap_or_default();
            let weight = *flows as f64 / sizes.len().max(1) as f64;
            sizes.into_iter().map(move |size| (size, weight))
        };
        self.demands.iter().enumerate().flat_map(of).collect()
    }
}

/// The longest paths between hosts, to packets of certain sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Longest {
    /// From when the first bit of a full packet leaves its host to when the last bit of the answer is back, over the
    /// longest path, store-and-forward, with nothing in the way.
    pub round_trip: Time,
    /// The part of it that the delays of the cables are, there and back.
    pub delay: Time,
    /// The largest bandwidth-delay product of a pair of hosts: its rate times its round trip.
    pub bdp: u64,
    /// The rate of that pair: of the slower of both hosts' own links on the way.
    pub rate: Rate,
}

/// Hosts that paths are looked up between, at most: of more, so many, evenly spaced.
const HOSTS_MOST: u32 = 128;

impl Longest {
    /// Of the shortest paths, by number of links, between hosts of a network: data in packets of `full` bytes on the
    /// wire, answers of `answer` bytes.
    pub fn new(fabric: &Fabric, routes: &Routes, full: u64, answer: u64) -> Longest {
        let sampled = fabric.hosts.min(HOSTS_MOST);
        let host = |index: u32| {
            NodeId((u64::from(index) * u64::from(fabric.hosts) / u64::from(sampled.max(1))) as u32)
        };
        let mut longest = Longest::default();
        for from in (0..sampled).map(host) {
            for to in (0..sampled).map(host).filter(|to| *to != from) {
                longest.widen(fabric, routes, (from, to), (full, answer));
            }
        }
        longest
    }

    fn widen(&mut self, fabric: &Fabric, routes: &Routes, ends: (NodeId, NodeId), sizes: (u64, u64)) {
        let (mut at, mut time, mut delay) = (ends.0, Time::ZERO, Time::ZERO);
        let mut rates = [Rate(u64::MAX); 2];
        while at != ends.1 {
            let id = routes.next_hops(at, ends.1)[0];
            let (link, back) = (&fabric.links[id.index()], &fabric.links[id.index() ^ 1]);
            for (link, bytes) in [(link, sizes.0), (back, sizes.1)] {
                time = time.saturating_add(link.rate.transmission(bytes)).saturating_add(link.delay);
                delay = delay.saturating_add(link.delay);
            }
            if at == ends.0 {
                rates[0] = link.rate;
            }
            rates[1] = link.rate;
            at = link.to;
        }
        let rate = rates[0].min(rates[1]);
        if time > self.round_trip {
            (self.round_trip, self.delay) = (time, delay);
        }
        let bdp = bytes_in(rate, time);
        if bdp > self.bdp {
            (self.bdp, self.rate) = (bdp, rate);
        }
    }

    /// The longest of both in each respect.
    pub fn or(self, other: Longest) -> Longest {
        let (more, less) = if other.bdp > self.bdp { (other, self) } else { (self, other) };
        let slower = if less.round_trip > more.round_trip { less } else { more };
        Longest { round_trip: slower.round_trip, delay: slower.delay, ..more }
    }

    /// The bandwidth-delay product in packets, rounded up.
    pub fn packets(&self, full: u64) -> u32 {
        u32::try_from(self.bdp.div_ceil(full.max(1))).unwrap_or(u32::MAX)
    }

    /// So many of the longest round trips, rounded up to 100 ns.
    pub fn round_trips(&self, count: u64) -> Time {
        const STEP: u64 = 100_000;
        Time(self.round_trip.0.saturating_mul(count).div_ceil(STEP).saturating_mul(STEP))
    }
}

/// The bytes that a link of that rate carries in a time, rounded up.
pub fn bytes_in(rate: Rate, time: Time) -> u64 {
    let bits = u128::from(rate.0) * u128::from(time.0);
    u64::try_from(bits.div_ceil(u128::from(8 * SECOND))).unwrap_or(u64::MAX)
}

/// Values of fields that follow from the network: (path below the member's name, value as a scenario has it).
pub type Values = Vec<(String, Value)>;

/// A configuration, of a member of that name, with these values in it.
pub fn settle<T: Serialize + DeserializeOwned + Clone>(config: &T, name: &str, values: &Values) -> T {
    if values.is_empty() {
        return config.clone();
    }
    let mut document = json!(config);
    for (field, value) in values {
        let place = field.split('.').fold(&mut document[name], |above, step| &mut above[step]);
        *place = value.clone();
    }
    T::deserialize(&document).expect("derived values are as a scenario has them")
}
