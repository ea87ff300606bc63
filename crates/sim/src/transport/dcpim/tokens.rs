//! Incomplete flows of a receiving interface: which of them a matched sender gets the next token for.
//!
//! Source: Terabit-Ethernet/dcPIM (`simulator/ext/pimhost`, `pimflow`): the flow of a sender with the fewest packets left has its
//! tokens; a window bounds those that no packet has answered, and when all packets have had one, those that are missing get
//! tokens again after a wait. A short flow begins as one whose packets all have had theirs.

use std::ops::Range;

use crate::ids::{ConnId, NodeId};
use crate::units::Time;

/// Windows and waits.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Tokens of a flow that no packet has answered, at most one more, if all channels are its sender's.
    pub window: u32,
    /// All channels of a host.
    pub channels: u32,
    /// So long after its last token a flow whose window is full gets one more.
    pub window_timeout: Time,
    /// After the last token of a flow packets that are missing get tokens again.
    pub resend: Time,
}

impl Rules {
    /// The window of a sender with so many channels.
    fn window_of(&self, channels: u32) -> u32 {
        (u64::from(self.window) * u64::from(channels) / u64::from(self.channels)) as u32
    }
}

/// A flow with packets that have not arrived.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub conn: ConnId,
    pub source: NodeId,
    /// Packets that have not arrived.
    pub left: u32,
    /// Packets before it have had a token in this pass over the flow.
    pub next: u32,
    /// Tokens that it has had, and the last one that a packet has answered, counted from 1.
    pub sent: u32,
    answered: u32,
    sent_at: Time,
    /// It gets no tokens and asks for no channels before.
    due: Time,
    /// Whether a full window keeps a token back.
    is_blocked: bool,
}

impl Entry {
    /// A flow that begins at `now`, of so many packets, so many of which come without tokens until `due`.
    pub fn new(conn: ConnId, source: NodeId, (packets, free): (u32, u32), (now, due): (Time, Time)) -> Entry {
        let due = if free > 0 { due } else { Time::ZERO };
        Entry {
            conn,
            source,
            left: packets,
            next: 0,
            sent: free,
            answered: 0,
            sent_at: now,
            due,
            is_blocked: false,
        }
    }

    /// When it may next ask for channels.
    pub fn ready_at(&self, now: Time) -> Time {
        self.due.max(now)
    }
}

/// The outcome for a matched sender whose next token is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A token, for the flow at that place.
    Token(usize),
    /// None: a packet of a short flow comes in its stead.
    LeftOut,
    /// None before that time, unless a packet comes.
    Wait(Time),
}

/// The flows of one interface, by sender; of one sender in the order in which they began.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    all: Vec<Entry>,
    /// Tokens that are left out for packets of short flows, until that time.
    left_out: u32,
    left_out_until: Time,
}

impl Flows {
    /// A flow begins; so many tokens are left out until that time.
    pub fn join(&mut self, entry: Entry, (left_out, until): (u32, Time)) {
        if left_out > 0 {
            (self.left_out, self.left_out_until) = (left_out, until);
        }
        let place = self.all.partition_point(|other| other.source <= entry.source);
        self.all.insert(place, entry);
    }

    /// A flow has all its packets.
    pub fn leave(&mut self, source: NodeId, conn: ConnId) {
        let place = self.place(source, conn);
        self.all.remove(place);
    }

    /// A new packet of a flow has arrived, which answers the token of that number. Whether a token was kept back before.
    pub fn arrived(&mut self, source: NodeId, conn: ConnId, answers: u32) -> bool {
        let place = self.place(source, conn);
        let flow = &mut self.all[place];
        flow.left -= 1;
        flow.answered = flow.answered.max(answers);
        std::mem::take(&mut flow.is_blocked)
    }

    /// The flow of each sender that asks for channels.
    pub fn asking(&self, now: Time) -> impl Iterator<Item = &Entry> {
        let of_senders = self.all.chunk_by(|a, b| a.source == b.source);
        of_senders
            .filter_map(move |flows| flows.iter().filter(|flow| flow.due <= now).min_by_key(|flow| flow.left))
    }

    /// When the first flow may ask for channels; [`Time::NEVER`] without flows.
    pub fn ready_at(&self, now: Time) -> Time {
        self.all.iter().map(|flow| flow.ready_at(now)).min().unwrap_or(Time::NEVER)
    }

    /// The next token of a sender with so many channels is due.
    pub fn turn(&mut self, source: NodeId, channels: u32, now: Time, rules: &Rules) -> Turn {
        let own = self.of(source);
        let ready = own.clone().filter(|&place| self.all[place].due <= now);
        let Some(place) = ready.min_by_key(|&place| self.all[place].left) else {
            return Turn::Wait(self.all[own].iter().map(|flow| flow.due).min().unwrap_or(Time::NEVER));
        };
        if self.left_out > 0 && now < self.left_out_until {
            self.left_out -= 1;
            return Turn::LeftOut;
        }
        let (flow, window) = (&mut self.all[place], rules.window_of(channels));
        if flow.sent - flow.answered > window {
            let relaxed_at = flow.sent_at.saturating_add(rules.window_timeout);
            if relaxed_at > now {
                flow.is_blocked = true;
                return Turn::Wait(relaxed_at);
            }
            flow.answered = flow.sent - window;
        }
        flow.sent += 1;
        flow.sent_at = now;
        flow.is_blocked = false;
        Turn::Token(place)
    }

    /// The flow at a place.
    pub fn at(&self, place: usize) -> &Entry {
        &self.all[place]
    }

    /// The flow at a place has got its token, for the packet before `next`, or else the last one of this pass.
    pub fn given(&mut self, place: usize, next: Option<u32>, now: Time, rules: &Rules) {
        let flow = &mut self.all[place];
        match next {
            Some(next) => flow.next = next,
            None => (flow.next, flow.due) = (0, now.saturating_add(rules.resend)),
        }
    }

    /// Whether a sender has a flow.
    pub fn has(&self, source: NodeId) -> bool {
        !self.of(source).is_empty()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn of(&self, source: NodeId) -> Range<usize> {
        let begin = self.all.partition_point(|flow| flow.source < source);
        let count = self.all[begin..].iter().take_while(|flow| flow.source == source).count();
        begin..begin + count
    }

    fn place(&self, source: NodeId, conn: ConnId) -> usize {
        let mut own = self.of(source);
        own.find(|&place| self.all[place].conn == conn).expect("a flow stays until all of it has arrived")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { window: 8, channels: 4, window_timeout: Time(110), resend: Time(100) };
    const SOURCE: NodeId = NodeId(3);

    fn flow(conn: u32, source: NodeId, packets: u32) -> Entry {
        Entry::new(ConnId(conn), source, (packets, 0), (Time::ZERO, Time::ZERO))
    }

    fn token(flows: &mut Flows, channels: u32, now: u64) -> Option<u32> {
        match flows.turn(SOURCE, channels, Time(now), &RULES) {
            Turn::Token(place) => {
                let next = flows.at(place).next + 1;
                flows.given(place, Some(next), Time(now), &RULES);
                Some(flows.at(place).conn.0)
            }
            _ => None,
        }
    }

    /// The flow with the fewest packets left has the tokens of its sender, three more than are answered if that has one of four
    /// channels; 110 ps after the third it gets one more.
    #[test]
    fn the_window_is_of_channels() {
        let mut flows = Flows::default();
        [flow(0, SOURCE, 20), flow(1, SOURCE, 10), flow(2, NodeId(1), 5)]
            .into_iter()
            .for_each(|entry| flows.join(entry, (0, Time::ZERO)));
        assert_eq!([0, 10, 20, 30].map(|now| token(&mut flows, 1, now)), [Some(1), Some(1), Some(1), None]);
        assert_eq!(flows.turn(SOURCE, 1, Time(30), &RULES), Turn::Wait(Time(130)));
        assert!(flows.arrived(SOURCE, ConnId(1), 1), "a token waited");
        assert_eq!([31, 32].map(|now| token(&mut flows, 1, now)), [Some(1), None]);
        assert_eq!([141, 142].map(|now| token(&mut flows, 1, now)), [Some(1), None]);
        assert_eq!(token(&mut flows, 2, 143), Some(1), "two channels have twice the window");
        assert_eq!(flows.asking(Time(0)).map(|entry| entry.conn.0).collect::<Vec<_>>(), [2, 1]);
        flows.leave(SOURCE, ConnId(1));
        assert_eq!(token(&mut flows, 1, 144), Some(0));
    }

    /// A short flow waits for its packets; tokens are left out for these, but not longer than they take.
    #[test]
    fn a_short_flow_has_had_its_tokens() {
        let mut flows = Flows::default();
        let short = Entry::new(ConnId(7), SOURCE, (2, 2), (Time(0), Time(120)));
        flows.join(short, (2, Time(20)));
        assert_eq!(flows.turn(SOURCE, 4, Time(0), &RULES), Turn::Wait(Time(120)));
        assert_eq!((flows.ready_at(Time(5)), flows.asking(Time(119)).count()), (Time(120), 0));
        flows.join(flow(8, SOURCE, 9), (0, Time::ZERO));
        assert_eq!(flows.turn(SOURCE, 4, Time(10), &RULES), Turn::LeftOut);
        assert_eq!(token(&mut flows, 4, 20), Some(8));
        assert_eq!(token(&mut flows, 4, 120), Some(7), "its packets are missing");
        flows.arrived(SOURCE, ConnId(7), 3);
        let Turn::Token(place) = flows.turn(SOURCE, 4, Time(130), &RULES) else { panic!("one is missing") };
        flows.given(place, None, Time(130), &RULES);
        assert_eq!((flows.at(place).next, flows.at(place).ready_at(Time(131))), (0, Time(230)));
    }
}
