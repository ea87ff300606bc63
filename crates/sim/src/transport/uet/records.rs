//! The packets that a sender has sent and that are not acknowledged, by number; and those that are to be sent again.

use std::collections::{BTreeSet, VecDeque};

use crate::ids::ConnId;
use crate::units::Time;

/// A packet that has been sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it was sent last.
    pub at: Time,
    /// Bytes on the wire.
    pub size: u32,
    pub len: u16,
    /// The flow that it belongs to.
    pub flow: ConnId,
    /// How often it has been sent, at most 255.
    pub times: u8,
    pub state: State,
    /// Whether it is the last one of the flow.
    pub last: bool,
}

/// The fate of a packet, as far as its sender knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    InFlight,
    /// It waits to be sent again.
    Lost,
    Acknowledged,
}

/// The records of one flow.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// From the first unacknowledged one on; `base` is its number.
    sent: VecDeque<Sent>,
    base: u32,
    /// Payload of all packets before that.
    acknowledged: u64,
    lost: BTreeSet<u32>,
    lost_bytes: i64,
    /// In the order in which they were sent; some have been answered or sent again since.
    order: VecDeque<(Time, u32)>,
}

impl Records {
    /// The number of the next new packet.
    pub fn next(&self) -> u32 {
        self.base + self.sent.len() as u32
    }

    /// The flow of the first unacknowledged packet.
    pub fn first_flow(&self) -> Option<ConnId> {
        self.sent.front().map(|sent| sent.flow)
    }

    /// The first unacknowledged number, or the next new one.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// Whether every packet that was sent is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Payload of the packets before the first unacknowledged one.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// A new packet of that payload; its time follows.
    pub fn push(&mut self, size: u32, (flow, len, last): (ConnId, u16, bool)) -> u32 {
        let number = self.next();
        let (at, state) = (Time::ZERO, State::InFlight);
        self.sent.push_back(Sent { at, size, len, flow, times: 0, state, last });
        number
    }

    /// A packet is sent now.
    pub fn sent(&mut self, number: u32, now: Time) -> Sent {
        let sent = &mut self.sent[(number - self.base) as usize];
        (sent.at, sent.state, sent.times) = (now, State::InFlight, sent.times.saturating_add(1));
        self.order.push_back((now, number));
        *sent
    }

    fn get(&self, number: u32) -> Option<&Sent> {
        self.sent.get(number.checked_sub(self.base)? as usize)
    }

    /// A packet that may still arrive.
    pub fn in_flight(&self, number: u32) -> Option<Sent> {
        self.get(number).filter(|sent| sent.state.is_in_flight()).copied()
    }

    /// Bytes of a packet on the wire.
    pub fn size_of(&self, number: u32) -> u32 {
        self.get(number).expect("it is not acknowledged").size
    }

    /// The lowest number that waits to be sent again.
    pub fn first_lost(&self) -> Option<u32> {
        self.lost.first().copied()
    }

    /// Whether any does.
    pub fn any_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Their bytes.
    pub fn lost_bytes(&self) -> i64 {
        self.lost_bytes
    }

    /// Takes the lowest of them, which is to be sent now.
    pub fn take_lost(&mut self) -> Option<u32> {
        let number = self.lost.pop_first()?;
        self.lost_bytes -= i64::from(self.size_of(number));
        Some(number)
    }

    /// A packet in flight is to be sent again.
    pub fn lose(&mut self, number: u32) {
        let sent = &mut self.sent[(number - self.base) as usize];
        sent.state = State::Lost;
        self.lost_bytes += i64::from(sent.size);
        self.lost.insert(number);
    }

    /// A packet has arrived. Returns its bytes if it was taken for lost: these count as in flight once more, as the receiver's
    /// count of received bytes has taken them away.
    pub fn acknowledge(&mut self, number: u32) -> i64 {
        let Some(place) = number.checked_sub(self.base).map(|place| place as usize) else { return 0 };
        let Some(sent) = self.sent.get_mut(place) else { return 0 };
        let before = std::mem::replace(&mut sent.state, State::Acknowledged);
        let bytes = i64::from(sent.size);
        let mut back = 0;
        if before == State::Lost {
            self.lost.remove(&number);
            self.lost_bytes -= bytes;
            back = bytes;
        }
        while let Some(sent) = self.sent.front().filter(|sent| sent.state == State::Acknowledged) {
            self.acknowledged += u64::from(sent.len);
            self.sent.pop_front();
            self.base += 1;
        }
        back
    }

    /// All packets before that number have arrived.
    pub fn acknowledge_before(&mut self, expected: u32) -> i64 {
        let mut back = 0;
        while self.base < expected && !self.sent.is_empty() {
            back += self.acknowledge(self.base);
        }
        back
    }

    /// The packet in flight that was sent first, and when.
    pub fn oldest(&mut self) -> Option<(Time, u32)> {
        while let Some(&(at, number)) = self.order.front() {
            if self.in_flight(number).is_some_and(|sent| sent.at == at) {
                return Some((at, number));
            }
            self.order.pop_front();
        }
        None
    }

    /// Leaves the timer of the oldest packet out.
    pub fn skip_oldest(&mut self) {
        self.order.pop_front();
    }

    /// Bytes of packets in flight and of those acknowledged behind others.
    pub fn sum_in_flight(&self) -> i64 {
        self.sent.iter().filter(|sent| sent.state.is_in_flight()).map(|sent| i64::from(sent.size)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(records: &mut Records, count: u32) {
        for number in 0..count {
            assert_eq!(records.push(100, (ConnId(0), 36, false)), number);
            records.sent(number, Time(u64::from(number)));
        }
    }

    /// Of five packets 1 and 3 are lost, and 3 arrives after all: its bytes come back. 1 is sent again at time 9: the oldest is
    /// then 0, and when all before 3 have arrived, 4.
    #[test]
    fn records_follow_each_packet() {
        let mut records = Records::default();
        numbers(&mut records, 5);
        [3, 1].into_iter().for_each(|number| records.lose(number));
        assert_eq!((records.first_lost(), records.lost_bytes()), (Some(1), 200));
        assert_eq!((records.acknowledge(3), records.lost_bytes()), (100, 100));
        assert_eq!(records.take_lost(), Some(1));
        assert_eq!(records.sent(1, Time(9)).times, 2);
        assert_eq!(records.oldest(), Some((Time(0), 0)));
        assert_eq!(records.acknowledge_before(2), 0);
        assert_eq!(records.oldest(), Some((Time(2), 2)));
        assert_eq!(records.sum_in_flight(), 200);
        records.acknowledge(2);
        // 3 is there already.
        assert_eq!((records.base(), records.next()), (4, 5));
        assert_eq!(records.oldest(), Some((Time(4), 4)));
        records.acknowledge(4);
        assert!(records.is_empty() && records.oldest().is_none());
        assert_eq!(records.acknowledged(), 5 * 36);
    }
}
