//! The choice among a packet's equal-cost next hops.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::assigned::Assigned;
use crate::advice::Unread;
use crate::derived::Values;
use crate::engine::contract::path::{
    Acts, Choose, Hop, Look, News, Opening, Passage, Passing, Path, ReorderCounts, Tag, Trip, Verdict,
};
use crate::engine::contract::paths::Paths;
use crate::ids::{ConnId, LinkId, PacketId};
use crate::problem::Problem;
use crate::prototype::Named;
use crate::register::{dispatch, register};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Rate, Time};

/// Two lists: the balancers that have a model of their own, and the schemes by which connections are given whole paths.
/// To the packets all schemes are the same, so that they share a model: each further one is a compare for every packet.
macro_rules! balancers {
    (
        $($module:ident :: $config:ident = $name:literal),* $(,)?
        ; whole paths $($scheme:ident :: $whole:ident = $whole_name:literal),* $(,)?
    ) => {
        register! {
            /// The choice among a packet's equal-cost next hops.
            pub enum Balancer: Settings { $($module::$config = $name,)* $($scheme::$whole = $whole_name,)* }
        }

        /// The state of a balancer at all nodes.
        #[derive(Debug)]
        pub enum Model {
            $($config($module::Model),)*
            Assigned(Assigned),
        }

        impl Balancer {
            /// The balancer at all nodes of a network.
            pub fn model(&self, fabric: &Fabric, seed: u64, replica: u64) -> Model {
                match self {
                    $(Balancer::$config(config) => Model::$config($module::Model::new(config, fabric, seed, replica)),)*
                    $(Balancer::$whole(config) => {
                        let scheme = Arc::new($scheme::Scheme::new(config, fabric, seed, replica));
                        Model::Assigned(Assigned::by(scheme, config.answers, fabric, seed, replica))
                    })*
                }
            }
        }

        dispatch! {
            impl Choose for Model [$($config)* Assigned] {
                #[inline(always)]
                fn choose(&mut self, hop: Hop, now: Time) -> u32;
                fn choose_by_load(&mut self, hop: Hop, now: Time, look: Look) -> u32;
                #[inline(always)]
                fn foresee(&self, hop: Hop) -> Option<u32>;
                fn tags(&self) -> bool;
                fn passes(&mut self, passage: Passage, now: Time, tag: &mut Tag);
                fn acts(&self) -> bool;
                fn handle(&mut self, passing: Passing, now: Time, tag: &mut Tag, acts: &mut Acts) -> Verdict;
                fn restores(&self) -> bool;
                fn number(&mut self, conn: ConnId, label: u32, tag: &mut Tag);
                fn wake(&mut self, port: LinkId, now: Time, acts: &mut Acts);
                fn held(&self, found: &mut dyn FnMut(PacketId));
                fn reordering(&self) -> Option<ReorderCounts>;
                fn routes_change(&mut self, routes: &Routes, fabric: &Fabric, rate: &dyn Fn(LinkId) -> Rate);
                fn open(&mut self, opening: Opening, paths: &mut Paths) -> (LinkId, LinkId);
                fn whole_path(&self, id: ConnId, forward: bool) -> Option<Path>;
                fn at_source(&self) -> bool;
                fn learns(&self) -> bool;
                fn learn(&mut self, conn: ConnId, news: News, now: Time);
                fn by_entropy(&self) -> bool;
                fn next_path(&mut self, trip: Trip) -> Option<Path>;
                fn path(&self, id: ConnId, forward: bool) -> Option<u32>;
            }
        }
    };
}

balancers! {
    single::Single = "single",
    per_flow::PerFlow = "per-flow",
    entropy::Entropy = "entropy",
    per_packet::PerPacket = "per-packet",
    permuted::Permuted = "permuted",
    drb::Drb = "drb",
    presto::Presto = "presto",
    weighted::Weighted = "weighted",
    letflow::LetFlow = "letflow",
    flare::Flare = "flare",
    drill::Drill = "drill",
    detail::Detail = "detail",
    adaptive::Adaptive = "adaptive",
    conga::Conga = "conga",
    conweave::ConWeave = "conweave",
    hermes::Hermes = "hermes",
    granted::Granted = "granted",
    python::PythonBalancer = "python",
    ;
    whole paths
    nix::Nix = "nix",
    dual::Dual = "dual",
    mod_k::ModK = "mod-k",
    valiant::Valiant = "valiant",
    spain::Spain = "spain",
    explicit::Explicit = "explicit",
}

pub mod assigned;
mod cells;
mod flowlets;
mod labels;
mod leaves;
mod reordering;
mod wakes;

/// Properties of a balancer's configuration that the check uses.
pub trait Settings {
    /// Whether it leaves the path to the source.
    fn leaves_paths(&self) -> bool {
        false
    }

    /// Whether the path of a connection is that of a hash of its label, so that a host can change it.
    fn hashes(&self) -> bool {
        false
    }

    /// Whether switches hash the entropy values that sources give their packets.
    fn hashes_entropy(&self) -> bool {
        false
    }

    /// Whether it learns from senders about the paths of their data, and from marks among others.
    fn learns(&self) -> bool {
        false
    }

    /// Whether packets carry paths that a controller has chosen.
    fn follows_controller(&self) -> bool {
        false
    }

    /// Whether all packets of a connection in one direction take one path while the network stays as it is.
    fn one_path(&self) -> bool {
        false
    }

    /// Whether packets of one connection may be on several paths at once, so that it can be faster than on any one of them.
    fn spreads(&self) -> bool {
        false
    }

    /// Fields that the scenario leaves to the network, with their values: given the most packets that a port of a switch holds,
    /// if that is limited, and the size of a full one.
    fn derived(&self, limit_packets: Option<u64>, full_packet: u64) -> Values {
        let _ = (limit_packets, full_packet);
        Vec::new()
    }

    /// The shortest pause between packets of a flow after which it may change their path, if it waits for one.
    fn gap(&self) -> Option<Time> {
        None
    }

    /// Whether its choice follows from the rates of links, so that a rate that changes is a change of routes.
    fn weighs(&self) -> bool {
        false
    }

    /// Whether its only choice is among the shortest paths of the network: none, where there is one.
    fn among_shortest(&self) -> bool {
        true
    }

    /// Whether answers go the links of the data backwards, wherever there is more than one way.
    fn answers_backwards(&self) -> bool {
        false
    }

    /// Most links of its paths on a network whose longest shortest path has so many.
    fn links_most(&self, longest: u32) -> u32 {
        longest
    }

    /// Whether it is for networks alone whose paths go up and then down.
    fn climbs(&self) -> bool {
        false
    }

    /// Its problems on that network.
    fn problems(&self, fabric: &Fabric) -> Vec<Problem> {
        let _ = fabric;
        Vec::new()
    }

    /// Fields that the others leave unread: advice names those that a scenario sets.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// Finds the prototype that it names; whether it names one.
    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        let _ = prototypes;
        false
    }
}

/// Load balancers that are written in Python: see `prototype.rs`.
pub type Prototypes = Named<dyn python::Prototype>;

/// Load balancing: the path of each packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// The choice among a packet's equal-cost next hops. Absent: the transport's recommendation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balancer: Option<Balancer>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether a connection's packets take one path, and whether that is one of the shortest, whatever is set.
    #[test]
    fn what_balancers_say_of_their_paths() {
        for (name, one, shortest) in [
            ("single", true, true),
            ("per-flow", true, true),
            ("entropy", false, true),
            ("per-packet", false, true),
            ("permuted", false, true),
            ("drb", false, true),
            ("presto", false, true),
            ("weighted", true, true),
            ("letflow", false, true),
            ("flare", false, true),
            ("drill", false, true),
            ("detail", false, true),
            ("adaptive", false, true),
            ("conga", false, true),
            ("conweave", false, true),
            ("hermes", false, true),
            ("granted", false, false),
            ("nix", true, true),
            ("dual", true, true),
            ("mod-k", true, true),
            ("valiant", true, false),
            ("spain", true, false),
        ] {
            let balancer = Balancer::deserialize(json!({ name: {} })).expect("a balancer");
            assert_eq!((balancer.one_path(), balancer.among_shortest()), (one, shortest), "{name}");
        }
        let explicit = Balancer::deserialize(json!({"explicit": {"routes": []}})).expect("a balancer");
        assert!(explicit.one_path() && !explicit.among_shortest());
    }
}
