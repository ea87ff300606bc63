//! Properties of a transport that its configuration fixes: plain values, with the usual ones as defaults.

use serde_json::Value;

use crate::agent::Agent;
use crate::balancer::Balancer;
use crate::balancer::per_flow::PerFlow;
use crate::queue::drop_tail::DropTail;
use crate::queue::infinite::Infinite;
use crate::queue::{Feature, Queue};
use crate::units::Time;

/// Properties of a transport's packets, senders and connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// How a flow is cut into packets, to compute its ideal completion time; `None` if that is random.
    pub framing: Option<Framing>,
    /// Bytes of a full data packet on the wire.
    pub full_packet: u64,
    /// Bytes on the wire that no data packet exceeds: ports that may not drop keep room for it.
    pub packet_max: u64,
    /// Mean bytes on the wire of a data packet of a long flow. For estimates.
    pub packet_mean: u64,
    /// Bytes of a packet on the wire that answers data; 0: nothing answers.
    pub answer_bytes: u64,
    /// Packets without payload for each data packet. For estimates.
    pub answers_per_packet: f64,
    /// Bytes of each packet below the IP header. For captures.
    pub link_bytes: u64,
    /// Whether data packets are ECN-capable, so that queues may mark them.
    pub ecn_capable: bool,
    /// Whether it marks the packets that it sends before their receiver has scheduled any, so that ports may drop them before
    /// others: see [`flag::DROPPABLE`](crate::engine::contract::packet::flag::DROPPABLE).
    pub marks_unscheduled: bool,
    /// Whether ports to hosts may mark them by default, as others do.
    pub marks_last_hop: bool,
    /// The field by which it gives its packets classes of its own, if it does.
    pub class_field: Option<&'static str>,
    /// Connections that carry a flow besides the one that stands for it; 0: it has no other.
    pub subflows: u64,
    /// Memory of a connection beyond the usual one, with both its ends. For estimates.
    pub connection_bytes: u64,
    /// Whether connections can be kept: see [`Endpoint::connect`](crate::engine::contract::endpoint::Endpoint::connect).
    pub keeps: bool,
    /// Whether its senders tell balancers about the paths of their data: see
    /// [`Host::tell_path`](crate::engine::contract::host::Host::tell_path).
    pub tells_paths: bool,
    /// Whether it carries flows without an end.
    pub endless: bool,
    /// Whether it retransmits lost packets.
    pub retransmits: bool,
    /// Whether a flow with a deadline may end before all of its bytes have arrived.
    pub gives_up: bool,
    /// The longest time that timers let pass before a sender retransmits an unacknowledged packet.
    pub timeout_max: Time,
    /// Full packets that a flow sends before anything answers, if ports are to hold them. For advice.
    pub initial_burst: Option<u64>,
    /// Full packets that a flow may have in flight; `None` if only its host's link limits them. For estimates.
    pub in_flight_max: Option<u64>,
    /// The signal by which a window or rate of its own adapts to the path, if it has one and if thresholds of ports matter for
    /// it. For advice and derived thresholds.
    pub window_signal: Option<Signal>,
    /// Fields of a host's behaviour for all its connections: all of a run's transports of one kind agree in them.
    pub host_fields: Vec<(&'static str, Value)>,
    /// The queue that ports get if the scenario names none.
    pub queue: Queue,
    /// The balancer that flows get if the scenario names none.
    pub balancer: Balancer,
}

impl Profile {
    /// Of reliable flows in packets of `payload` bytes and `header` more on the wire, except that the last one is cut.
    pub fn new(payload: u64, header: u64) -> Profile {
        Profile {
            framing: Some(Framing { payload, header, pad_last: false }),
            full_packet: payload + header,
            packet_max: payload + header,
            packet_mean: payload + header,
            answer_bytes: 0,
            answers_per_packet: 1.0,
            link_bytes: 0,
            ecn_capable: false,
            marks_unscheduled: false,
            marks_last_hop: true,
            class_field: None,
            subflows: 0,
            connection_bytes: 0,
            keeps: false,
            tells_paths: false,
            endless: true,
            retransmits: true,
            gives_up: false,
            timeout_max: Time::ZERO,
            initial_burst: None,
            in_flight_max: None,
            window_signal: None,
            host_fields: Vec::new(),
            queue: DropTail::default().into(),
            balancer: PerFlow {}.into(),
        }
    }

    /// The same without answers and retransmissions: ports hold all packets unless the scenario names a queue.
    pub fn unanswered(payload: u64, header: u64) -> Profile {
        Profile {
            answers_per_packet: 0.0,
            retransmits: false,
            queue: Infinite {}.into(),
            ..Profile::new(payload, header)
        }
    }
}

/// A transport's requirements on ports, traffic and the rest of the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// Features of the ports on the path.
    pub features: Vec<Feature>,
    /// One of them, and the setting of its own with which the transport does without it: FIELD = VALUE.
    pub unless: Option<(Feature, &'static str)>,
    /// The agent at ports, with defaults.
    pub agent: Option<Agent>,
    /// A controller, which decides when, or how fast, it sends.
    pub controller: bool,
    /// A record in each packet: see [`Record`](crate::engine::contract::packet::Record).
    pub records: bool,
    /// Priorities of flows: it reads them.
    pub priority: bool,
    /// Flows with deadlines, which are all that this field is about, if it is set so.
    pub deadlines: Option<&'static str>,
    /// The choice of paths, by this field, if it is set so: only some balancers leave it to the transport.
    pub paths: Option<&'static str>,
    /// The labels of its connections, by this field, if it is set so: only balancers that hash them give another path then.
    pub labels: Option<&'static str>,
    /// Entropy values of its packets, by this field, if it is set so: only some balancers hash them.
    pub entropy: Option<&'static str>,
    /// Answers that go the links of the data backwards, all of a flow on one path.
    pub backwards: bool,
    /// The queue of switches, its rules and its limit, at hosts' ports, by this field, if it is set so: the transport fills
    /// it by [`Host::hand_over`](crate::engine::contract::host::Host::hand_over).
    pub host_queues: Option<&'static str>,
}

/// How a flow is cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload: u64,
    /// Bytes on the wire on top of the payload.
    pub header: u64,
    /// Whether the last packet is sent at full size even if its payload is short.
    pub pad_last: bool,
}

/// A signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Lost packets.
    Losses,
    /// Marked packets.
    Marks,
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::transport::Transport;

    /// The values of each member with its defaults are consistent.
    #[test]
    fn profiles_and_needs_agree() {
        for name in Transport::NAMES.iter().filter(|name| **name != "python") {
            let transport = Transport::deserialize(&json!({ *name: {} })).expect("a transport with defaults");
            let (profile, needs) = (transport.profile(), transport.needs());
            assert!(profile.full_packet > 0 && profile.packet_max >= profile.full_packet, "{name}");
            if let Some(framing) = profile.framing {
                assert_eq!(framing.payload + framing.header, profile.full_packet, "{name}");
            }
            assert!(profile.ecn_capable || !needs.features.contains(&Feature::Ecn), "{name}");
            assert!(needs.records || needs.agent.is_none(), "{name}: agents act on records");
            assert!(profile.gives_up || needs.deadlines.is_none(), "{name}");
            assert!(profile.retransmits || profile.timeout_max == Time::ZERO, "{name}");
            let offers = profile.queue.offers();
            let missing = needs.features.iter().find(|need| !need.is_everywhere() && !offers.contains(need));
            assert_eq!(missing, None, "{name}: the queue that ports get by default");
        }
    }

    /// The check finds all problems of a scenario at once, and reads the profile of a transport that has some.
    #[test]
    fn a_configuration_with_problems_has_a_profile() {
        for document in [
            json!({ "ndp": { "mtu": "65B", "mtu_includes_header": true, "header_bytes": "1000B" } }),
            json!({ "datagram": { "lengths": { "fixed": "1B" }, "header_bytes": "1000B" } }),
            json!({ "datagram": { "lengths": { "endless": {} } } }),
            json!({ "central": { "lengths": { "endless": {} } } }),
            json!({ "tcp": { "mss": "65000B", "receive_window": "1B", "header_bytes": "0B" } }),
            json!({ "mptcp": { "send_buffer": "1B", "tcp": { "mss": "65000B", "receive_window": "1B" } } }),
            json!({ "pfabric": { "max_window": 1, "initial_window": 2 } }),
            json!({ "rcp": { "pacing": { "rto_min": "1s", "rto_max": "1us" } } }),
        ] {
            let transport = Transport::deserialize(&document).expect("fields within their bounds");
            assert!(!transport.problems().is_empty(), "{document}");
            let (profile, _) = (transport.profile(), transport.needs());
            assert!(profile.packet_max > 0, "{document}");
        }
    }

    /// 1436 B of payload and 64 B of header, reliable or not.
    #[test]
    fn a_profile_follows_from_a_cut() {
        let reliable = Profile::new(1436, 64);
        assert_eq!((reliable.full_packet, reliable.packet_max), (1500, 1500));
        assert_eq!(reliable.framing, Some(Framing { payload: 1436, header: 64, pad_last: false }));
        assert!(reliable.retransmits && reliable.endless);
        let unanswered = Profile::unanswered(1436, 64);
        assert_eq!((unanswered.retransmits, unanswered.answers_per_packet), (false, 0.0));
        assert_eq!(unanswered.queue, Infinite {}.into());
    }
}
