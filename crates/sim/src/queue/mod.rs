//! Queue disciplines of a port: enqueue, dequeue, mark, trim, drop.
//!
//! A member has a configuration, which is part of the scenario, and a `Model`, which is its state at
//! one port. Adding one is its file and its line in the list below.

pub mod fifo;
pub mod ranked;
pub mod waiting;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::advice::{Advice, Unread};
use crate::derived::{Derivable, Environment, Longest, Values};
use crate::engine::contract::credit::{CLASSES, Credits};
use crate::engine::contract::discipline::{Discipline, PortContext, Queued};
use crate::engine::contract::gate::Thresholds;
use crate::engine::contract::rules::{BufferLimit, Rules};
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::prototype::Named;
use crate::register::{dispatch, register};
use crate::topology::{Fabric, Link};
use crate::units::{Bytes, Rate};

/// One list: configuration and model of each queue, and the way from one to the other.
macro_rules! queues {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// Queue discipline of a port.
            pub enum Queue: Settings { $($module::$config = $name),* }
        }

        /// The state of a queue at one port.
        #[derive(Debug)]
        pub enum Model {
            $($config(<$module::$config as Build>::Model),)*
        }

        impl Queue {
            /// An empty queue.
            pub fn model(&self, full_packet: u64) -> Model {
                match self {
                    $(Queue::$config(config) => Model::$config(config.model(full_packet)),)*
                }
            }

            /// The same at a port to a host.
            pub fn model_at_last_hop(&self, full_packet: u64) -> Model {
                match self {
                    $(Queue::$config(config) => Model::$config(config.model_at_last_hop(full_packet)),)*
                }
            }

            /// An empty queue at a host's port, which neither drops data nor marks.
            pub fn at_host(&self, full_packet: u64) -> Model {
                let own = match self {
                    $(Queue::$config(config) => config.at_host(full_packet).map(Model::$config),)*
                };
                own.unwrap_or_else(|| Queue::from(infinite::Infinite {}).model(0))
            }
        }

        dispatch! {
            impl Discipline for Model [$($config)*] {
                #[inline(always)]
                fn enqueue(&mut self, id: PacketId, cx: &mut PortContext);
                #[inline(always)]
                fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued>;
                #[inline(always)]
                fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued>;
                fn timer(&mut self, cx: &mut PortContext);
                fn holds_back(&self) -> bool;
                fn scale(&mut self, share: f64);
                fn ahead(&self, class: u8) -> Option<u64>;
                #[inline(always)]
                fn is_empty(&self) -> bool;
                fn resident(&self, found: &mut dyn FnMut(PacketId));
            }
        }
    };
}

queues! {
    infinite::Infinite = "infinite",
    drop_tail::DropTail = "drop-tail",
    ecn::Ecn = "ecn",
    ndp::NdpPort = "ndp",
    strict_priority::StrictPriority = "strict-priority",
    pfabric::PfabricPort = "pfabric",
    lossless::Lossless = "lossless",
    codel::Codel = "codel",
    red::Red = "red",
    pie::Pie = "pie",
    daq::DaqPort = "daq",
    python::PythonQueue = "python",
    trimming::Trimming = "trimming",
    phantom::Phantom = "phantom",
    fpq::Fpq = "fpq",
    credit::CreditPort = "credit",
    link_credits::LinkCredits = "link-credits",
    wfq::Wfq = "wfq",
    selective_drop::SelectiveDrop = "selective-drop",
}

/// Properties of a queue's configuration for the check and the engine.
pub trait Settings {
    /// Features that transports may need from it.
    fn offers(&self) -> &'static [Feature] {
        &[]
    }

    /// Fields that the others leave unread: advice names those that a scenario sets.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// Fields that concern marks only: without ECN-capable packets nothing reads them.
    fn for_marks(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether it drops packets that senders mark as unscheduled before others, which is all that it has beyond other queues.
    fn drops_unscheduled(&self) -> bool {
        false
    }

    /// Classes that a port serves apart; 1: it reads no packet's class.
    fn classes(&self) -> u32 {
        1
    }

    /// The field that has the queue length from which on it does so, for a feature that it offers.
    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        let _ = feature;
        None
    }

    /// All problems beyond those that the schema finds; paths are below the queue.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Fields that the scenario leaves to the network, with their values, given the size of a full packet.
    fn derived(&self, environment: &Environment, full_packet: u64) -> Values {
        let _ = (environment, full_packet);
        Vec::new()
    }

    /// Allowed settings of its fields that are probably not meant; the fields are at that path.
    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        let _ = (path, longest);
        Vec::new()
    }

    /// The threshold above which it marks, if the scenario gives one, and whether it may leave it to the network. For
    /// advice.
    fn marks_above(&self) -> Option<(Limit, bool)> {
        None
    }

    /// Whether it drops packets or sets its timer in `dequeue`, of which hosts and other ports must learn at once: no
    /// departure is then decided in retrospect.
    fn acts_on_departure(&self) -> bool {
        false
    }

    /// The queue of ports of that rate, if it differs.
    fn at_rate(&self, rate: Rate) -> Option<Queue> {
        let _ = rate;
        None
    }

    /// Whether its packets may take memory that the ports of a switch share: it then keeps or drops what is offered, and
    /// changes no packet's size.
    fn joins_buffer(&self) -> bool {
        false
    }

    /// Whether it still writes into a packet while that is on the wire. Between the parts of a run the packet then is handed
    /// over at the end of its transmission.
    fn acts_after_departure(&self) -> bool {
        false
    }

    /// Whether it pauses the upstream ports before it has to drop: see `engine/network/pause.rs`.
    fn pauses(&self) -> bool {
        false
    }

    /// If so, its thresholds for bytes that arrived on that link; the second link is the reverse direction. BufferLimit for
    /// bytes in flight is for the longest packets.
    fn thresholds(&self, link: &Link, back: &Link, full_packet: u64, longest_packet: u64) -> Thresholds {
        let _ = (link, back, full_packet, longest_packet);
        Thresholds::NONE
    }

    /// The credit of the heads of links to its switches, by the classes of the data that each host sends:
    /// empty unless it gives credits, see `engine/network/credit.rs`.
    fn credits(&self, fabric: &Fabric, sends: &[[bool; CLASSES]], longest_packet: u64) -> Credits {
        let _ = (fabric, sends, longest_packet);
        Credits::default()
    }

    /// Its problems on that network, with that traffic; paths are below the queue.
    fn problems_with(&self, fabric: &Fabric, sends: &[[bool; CLASSES]], longest_packet: u64) -> Vec<Problem> {
        let _ = (fabric, sends, longest_packet);
        Vec::new()
    }

    /// Memory that a port takes beyond one with a single queue: see `engine/run/memory.rs`.
    fn port_bytes(&self) -> usize {
        0
    }

    /// Most full packets of data that it holds; `None` without a limit. For estimates.
    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.committed(full_packet)?.limit.most_packets(full_packet)
    }

    /// Its rules, if it is first-in first-out and decides all on arrival: then a port may commit to a
    /// departure when a packet arrives.
    fn committed(&self, full_packet: u64) -> Option<Rules> {
        let _ = full_packet;
        None
    }

    /// Finds the prototype that it names; whether it names one.
    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        let _ = prototypes;
        false
    }
}

/// Queues that are written in Python: see `prototype.rs`.
pub type Prototypes = Named<dyn python::Prototype>;

/// From the configuration to the state at one port.
pub trait Build {
    /// The state of the queue at one port.
    type Model: Discipline;

    /// An empty queue, given the size of a full data packet on the wire.
    fn model(&self, full_packet: u64) -> Self::Model;

    /// The same at a port to a host, if it behaves in another way there.
    fn model_at_last_hop(&self, full_packet: u64) -> Self::Model {
        self.model(full_packet)
    }

    /// An empty queue at a host's port, if it has a kind of its own there, such as one with classes; none: first-in first-out
    /// without a limit.
    fn at_host(&self, full_packet: u64) -> Option<Self::Model> {
        let _ = full_packet;
        None
    }
}

/// Features that a transport may need from the ports on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// A full port cuts the payload off and forwards the header.
    Trimming,
    /// A port marks packets instead of dropping them.
    Ecn,
    /// A port serves classes of traffic apart.
    Classes,
    /// A port sends the packet of the smallest flow first, and drops that of the largest.
    Scheduling,
    /// A port serves flows in proportion to the weights that their packets carry.
    Weights,
    /// No port drops: it pauses the upstream ports in time.
    Lossless,
    /// No port drops: it gives its senders credit for its free buffer, by class.
    Credits,
    /// A port limits the rate of credits to a share of its link's, and drops those that find no room.
    Metering,
    /// No port drops: it holds all that arrives.
    Unlimited,
    /// No port drops rate requests: it lets them pass, without payload if it must.
    Headers,
    /// A port writes its state into packets that leave it, whatever its queue: see `engine/data/telemetry.rs`.
    Telemetry,
}

impl Feature {
    /// The feature's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Trimming => "trimming",
            Feature::Ecn => "ECN marking",
            Feature::Classes => "classes",
            Feature::Scheduling => "scheduling by remaining size",
            Feature::Weights => "weighted fair queueing",
            Feature::Lossless => "flow control",
            Feature::Credits => "credits",
            Feature::Metering => "metering of credits",
            Feature::Unlimited => "unlimited room",
            Feature::Headers => "room for headers",
            Feature::Telemetry => "telemetry on departure",
        }
    }

    /// Whether each port has it, whatever its queue.
    pub fn is_everywhere(self) -> bool {
        self == Feature::Telemetry
    }
}

/// Limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// So many packets of any size.
    Packets(#[schemars(range(min = 1, max = 1_000_000_000))] u32),
    /// So many bytes.
    Bytes(#[schemars(extend("x-minimum" = "64B"))] Bytes),
    /// So many bytes as this number of full data packets have on the wire.
    FullPackets(#[schemars(range(min = 1, max = 1_000_000))] u32),
}

impl Derivable for Limit {
    const WORD: &'static str = "derived";
}

impl Limit {
    /// The limit as a room, given the size of a full data packet on the wire.
    pub fn room(self, full_packet: u64) -> BufferLimit {
        match self {
            Limit::Packets(packets) => BufferLimit { packets, ..BufferLimit::UNLIMITED },
            Limit::Bytes(bytes) => BufferLimit { bytes: bytes.0, ..BufferLimit::UNLIMITED },
            Limit::FullPackets(count) => {
                BufferLimit { bytes: u64::from(count) * full_packet, ..BufferLimit::UNLIMITED }
            }
        }
    }

    /// As many bytes as fit into the limit if all packets are full ones.
    pub fn room_in_bytes(self, full_packet: u64) -> BufferLimit {
        match self {
            Limit::Packets(count) => Limit::FullPackets(count).room(full_packet),
            other => other.room(full_packet),
        }
    }
}
