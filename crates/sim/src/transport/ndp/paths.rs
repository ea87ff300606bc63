//! The path of each packet, where the sender chooses it: among paths that it knows, by their scores; or by entropy values that
//! switches hash.

use super::Ndp;
use super::scores::Scores;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::transport::entropy::{self, Feedback, Select};
use crate::units::Time;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Acknowledged,
    /// Trimmed at the port to the receiver, where each path leads.
    TrimmedLast,
    Trimmed,
    /// Its header came back to the sender.
    Returned,
    Lost,
}

/// A connection's choice of paths.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    pub scores: Scores,
    entropy: Option<Box<entropy::Model>>,
}

impl Paths {
    /// Starts over for another flow, with the memory of before.
    pub fn clear(&mut self) {
        self.scores.clear();
        self.entropy = None;
    }

    /// A flow starts.
    pub fn start(&mut self, start: &Start, config: &Ndp, cx: &impl Host) {
        self.entropy =
            entropy::chosen(config.entropy.as_ref(), config.entropy_values, || start.packet_stream(cx));
    }

    /// Gives a packet that has just been made its path, by whose number its fate is judged later: `sent` new packets have been
    /// before.
    pub fn settle(&mut self, packet: &mut Packet, sent: u32, config: &Ndp, cx: &mut impl Host) -> u32 {
        if let Some(entropy) = &mut self.entropy {
            let value = entropy.next(u64::from(sent), u64::from(config.initial_window()));
            cx.set_entropy(packet, value);
            return u32::from(value);
        }
        self.scores.settle(packet, cx)
    }

    /// The fate of a packet on that path. A trim at the last hop blames no entropy value, as under Ultra Ethernet; htsim's scores
    /// count it as any other.
    pub fn judge(&mut self, path: u32, fate: Fate, config: &Ndp, now: Time) {
        if let Some(rule) = &config.path_penalty {
            match fate {
                Fate::Acknowledged => self.scores.ack(path, rule),
                Fate::TrimmedLast | Fate::Trimmed => self.scores.nack(path, 1, rule),
                Fate::Returned => self.scores.nack(path, rule.bounce, rule),
                Fate::Lost => self.scores.nack(path, rule.loss, rule),
            }
        }
        if let Some(entropy) = &mut self.entropy {
            let feedback = match fate {
                Fate::Acknowledged | Fate::TrimmedLast => Feedback::Good,
                Fate::Trimmed | Fate::Returned => Feedback::Trimmed,
                Fate::Lost => Feedback::TimedOut,
            };
            entropy.feedback(path as u16, feedback, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Model;
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::{FakeHost, SENDER};
    use crate::engine::contract::packet::{TRIMMED_LAST, flag};
    use crate::ids::ConnId;

    const FLOW: ConnId = ConnId(0);

    /// Four values, each once among the first four packets. The first is trimmed on its way, and its value has a penalty of 4:
    /// the next seven packets, more than two rounds of the others, are without it. The second is trimmed at the receiver's own port:
    /// its value is in each round.
    #[test]
    fn trims_on_the_way_blame_an_entropy_value() {
        let config = Ndp {
            entropy: Some(entropy::bitmap::Bitmap::default().into()),
            entropy_values: 4,
            initial_window: Derived::Given(11),
            pull_ack: false,
            ..Ndp::default()
        };
        let mut host = FakeHost::pair(1_000_000);
        host.conns[0].by_entropy = true;
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let first = host.sends(&mut model, FLOW, 4);
        let label = |packet: &Packet| packet.label;
        let labels: Vec<u32> = first.iter().map(label).collect();
        let distinct: std::collections::BTreeSet<_> = labels.iter().collect();
        assert_eq!(distinct.len(), 4);
        for (packet, class) in [(&first[0], 0), (&first[1], TRIMMED_LAST)] {
            let mut header = Packet { flags: packet.flags | flag::TRIMMED, ..*packet };
            header.header.class |= class;
            let nack = host.receives(&mut model, &header);
            host.answers(&mut model, &nack[0]);
        }
        let later: Vec<u32> = host.sends(&mut model, FLOW, 7).iter().map(label).collect();
        let times = |value: u32| later.iter().filter(|label| **label == value).count();
        assert_eq!((later.len(), times(labels[0])), (7, 0));
        assert!(times(labels[1]) >= 2, "{later:?} of {labels:?}");
    }

    /// A packet that is lost, and one whose header comes back, blame their values, too: of two values the other is taken for the
    /// packets that follow.
    #[test]
    fn lost_packets_blame_an_entropy_value() {
        for returned in [false, true] {
            let config = Ndp {
                entropy: Some(entropy::bitmap::Bitmap::default().into()),
                entropy_values: 2,
                initial_window: Derived::Given(2),
                rto_spread: 0.0,
                ..Ndp::default()
            };
            let mut host = FakeHost::pair(1_000_000);
            host.conns[0].by_entropy = true;
            let mut model = Model::new(host.configs(vec![config]));
            host.start(&mut model, FLOW);
            let first = host.sends(&mut model, FLOW, 2);
            for packet in &first[1..] {
                for answer in host.receives(&mut model, packet) {
                    host.answers(&mut model, &answer);
                }
            }
            if returned {
                let back =
                    Packet { flags: first[0].flags | flag::TRIMMED | flag::BOUNCED, dst: SENDER, ..first[0] };
                host.answers(&mut model, &back);
            } else {
                host.times_out(&mut model, FLOW);
            }
            let mut later = host.sends(&mut model, FLOW, 9);
            for _ in 0..3 {
                host.now = host.now + Time::from_us(2);
                let last = *later.last().expect("the packet goes again");
                for answer in host.receives(&mut model, &last) {
                    host.answers(&mut model, &answer);
                }
                later.extend(host.sends(&mut model, FLOW, 9));
            }
            assert!(later.len() >= 2, "returned {returned}: {} packets", later.len());
            assert!(later.iter().all(|packet| packet.label != first[0].label), "returned {returned}");
        }
    }

    /// Without a selector packets keep the label of their connection.
    #[test]
    fn without_a_selector_there_are_no_values() {
        let mut host = FakeHost::pair(1_000_000);
        host.conns[0].by_entropy = true;
        let mut model = Model::new(host.configs(vec![Ndp::default()]));
        host.start(&mut model, FLOW);
        let packets = host.sends(&mut model, FLOW, 9);
        assert!(packets.iter().all(|packet| packet.label == packets[0].label));
    }
}
