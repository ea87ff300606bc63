//! Tokens of a receiving interface: one in each slot, the time of a full packet, to the flow with the fewest packets left.
//!
//! Source: Gao et al., "pHost: Distributed Near-Optimal Datacenter Transport Over Commodity Network Fabric", CoNEXT 2015,
//! section 3; rules and numbers after the authors' simulator, NetSys/simulator (`capabilityhost`).

use crate::engine::contract::host::Timer;
use crate::ids::ConnId;
use crate::units::Time;

/// Number of tokens and waits, in slots.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Tokens of a flow beyond the last answered one, at most.
    pub window: u32,
    /// So long after its last token a flow whose window is full gets one more.
    pub window_timeout: f64,
    /// After the last token of a flow packets that are missing are given tokens again.
    pub resend: f64,
}

/// The reason for which a flow gets no tokens until it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    None,
    /// As many tokens as the window are unanswered.
    Window,
    /// All packets have had a token.
    Pass,
}

/// A flow with packets that have not arrived.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub conn: ConnId,
    /// Packets that have not arrived.
    pub left: u32,
    /// Packets before it have had a token in this pass over the flow.
    pub next: u32,
    /// Tokens that it has had, and the last one that a packet has answered, counted from 1. Those that it began with count.
    pub sent: u32,
    answered: u32,
    wait: Wait,
    due: Time,
    /// When the next token may go although the window is full.
    relaxed_at: Time,
    rules: Rules,
}

impl Entry {
    /// A flow that begins at `now`. If it has so many free tokens as packets, it has until `due` to use them.
    pub fn new(
        conn: ConnId,
        (packets, free): (u32, u32),
        due: Time,
        (now, slot): (Time, Time),
        rules: Rules,
    ) -> Entry {
        let wait = if free == packets { Wait::Pass } else { Wait::None };
        let relaxed_at = now.saturating_add(slots(slot, rules.window_timeout));
        Entry { conn, left: packets, next: free, sent: free, answered: 0, wait, due, relaxed_at, rules }
    }

    fn window_is_full(&self) -> bool {
        self.sent - self.answered >= self.rules.window
    }

    /// Whether it gets a token now if its turn comes. A wait that is over may be followed by one for the window.
    fn may_have_one(&mut self, now: Time) -> bool {
        if self.wait != Wait::None && self.due > now {
            return false;
        }
        if self.wait == Wait::Pass {
            self.next = 0;
        }
        self.wait = Wait::None;
        if self.window_is_full() && self.relaxed_at > now {
            (self.wait, self.due) = (Wait::Window, self.relaxed_at);
        }
        self.wait == Wait::None
    }
}

/// The flows of one interface.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    flows: Vec<Entry>,
    /// Slots that are left out for packets that come with free tokens.
    left_out: u32,
    next_at: Time,
    pub timer: Timer,
}

impl Tokens {
    /// A flow begins: as many slots are left out as packets of it come with free tokens.
    pub fn join(&mut self, entry: Entry, free: u32) {
        self.left_out = free;
        self.flows.push(entry);
    }

    /// A flow has all its packets.
    pub fn leave(&mut self, conn: ConnId) {
        self.flows.retain(|flow| flow.conn != conn);
    }

    /// A new packet of a flow has arrived, which answers the token of that number.
    pub fn arrived(&mut self, conn: ConnId, answers: u32) {
        let flow = self.flows.iter_mut().find(|flow| flow.conn == conn);
        let flow = flow.expect("a flow stays until all of it has arrived");
        flow.left -= 1;
        flow.answered = flow.answered.max(answers);
        if flow.wait == Wait::Window && !flow.window_is_full() {
            flow.wait = Wait::None;
        }
    }

    /// The flow that gets a token now, if a slot begins and one is due: the one with the fewest packets left, among equals
    /// the one that began first.
    pub fn take(&mut self, now: Time, slot: Time) -> Option<Entry> {
        if self.next_at > now || self.flows.is_empty() {
            return None;
        }
        if self.left_out > 0 {
            self.left_out -= 1;
            self.next_at = now + slot;
            return None;
        }
        let ready = self.flows.iter_mut().filter_map(|flow| flow.may_have_one(now).then_some(flow));
        let flow = ready.min_by_key(|flow| flow.left)?;
        if flow.window_is_full() {
            // One token at a time asks whether a sender that was busy elsewhere is free again.
            flow.answered = flow.sent + 1 - flow.rules.window;
        }
        flow.sent += 1;
        flow.relaxed_at = now.saturating_add(slots(slot, flow.rules.window_timeout));
        self.next_at = now + slot;
        Some(*flow)
    }

    /// The flow has got its token, for the packet before `next`; whether that was the last of this pass.
    pub fn given(&mut self, conn: ConnId, next: u32, is_last: bool, (now, slot): (Time, Time)) {
        let flow = self.flows.iter_mut().find(|flow| flow.conn == conn).expect("it has just been taken");
        flow.next = next;
        if is_last {
            (flow.wait, flow.due) = (Wait::Pass, now.saturating_add(slots(slot, flow.rules.resend)));
        } else if flow.window_is_full() {
            (flow.wait, flow.due) = (Wait::Window, flow.relaxed_at);
        }
    }

    /// When to look again: at the end of a slot that has begun, else when a wait is over; [`Time::NEVER`] without flows.
    pub fn next_at(&self, now: Time) -> Time {
        let due = |flow: &Entry| if flow.wait == Wait::None { now } else { flow.due.max(now) };
        match self.flows.iter().map(due).min() {
            None => Time::NEVER,
            Some(_) if self.next_at > now => self.next_at,
            Some(_) if self.left_out > 0 => now,
            Some(due) => due,
        }
    }

    /// The flows, for the audit.
    pub fn flows(&self) -> &[Entry] {
        &self.flows
    }
}

/// So many slots.
pub fn slots(slot: Time, count: f64) -> Time {
    Time((slot.0 as f64 * count) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Time = Time(10);
    const RULES: Rules = Rules { window: 3, window_timeout: 25.0, resend: 9.0 };

    /// A flow that begins at 0, and has until `due` to use its free tokens.
    fn flow(conn: u32, packets: u32, free: u32, due: u64) -> Entry {
        Entry::new(ConnId(conn), (packets, free), Time(due), (Time(0), SLOT), RULES)
    }

    /// The connection that gets a token now, of a flow without an end in sight.
    fn token(tokens: &mut Tokens, now: u64) -> Option<u32> {
        let entry = tokens.take(Time(now), SLOT)?;
        tokens.given(entry.conn, entry.next + 1, false, (Time(now), SLOT));
        Some(entry.conn.0)
    }

    /// Of 20 and 10 packets the shorter flow has its window of three tokens, then the other one; an answer to the second token
    /// opens the window by two, and 25 slots after its last token a flow without answers gets one more (NetSys/simulator,
    /// `relax_capability_gap`).
    #[test]
    fn a_flow_without_answers_is_blocked() {
        let mut tokens = Tokens::default();
        tokens.join(flow(0, 20, 0, 0), 0);
        tokens.join(flow(1, 10, 0, 0), 0);
        let order: Vec<_> = (0..7).map(|slot| token(&mut tokens, 10 * slot)).collect();
        assert_eq!(order, [Some(1), Some(1), Some(1), Some(0), Some(0), Some(0), None]);
        assert_eq!(tokens.next_at(Time(55)), Time(60), "a packet may come before");
        assert_eq!(tokens.next_at(Time(60)), Time(20 + 250));
        tokens.arrived(ConnId(0), 2);
        assert_eq!(tokens.next_at(Time(60)), Time(60));
        assert_eq!([60, 70, 80].map(|now| token(&mut tokens, now)), [Some(0), Some(0), None]);
        assert_eq!([270, 280].map(|now| token(&mut tokens, now)), [Some(1), None]);
        // Of the first flow, whose last token was at 70, and of the second one.
        assert_eq!([320, 520].map(|now| token(&mut tokens, now)), [Some(0), Some(1)]);
        tokens.arrived(ConnId(1), 5);
        assert_eq!([530, 540, 550].map(|now| token(&mut tokens, now)), [Some(1), Some(1), Some(1)]);
    }

    /// Slots are a packet's time apart, and left out for packets that come with free tokens.
    #[test]
    fn slots_are_left_out() {
        let mut tokens = Tokens::default();
        tokens.join(flow(0, 20, 0, 0), 0);
        assert_eq!([0, 9, 10].map(|now| token(&mut tokens, now)), [Some(0), None, Some(0)]);
        tokens.join(flow(1, 2, 2, 60), 2);
        assert_eq!([20, 30, 40].map(|now| token(&mut tokens, now)), [None, None, Some(0)]);
        // Its packets have not come: they get tokens, from the first on.
        assert_eq!(tokens.next_at(Time(50)), Time(60));
        assert_eq!(tokens.take(Time(60), SLOT).map(|entry| (entry.conn.0, entry.next)), Some((1, 0)));
        tokens.leave(ConnId(1));
        tokens.leave(ConnId(0));
        assert_eq!(tokens.next_at(Time(70)), Time::NEVER);
    }

    /// A flow that begins with a window of free tokens, none of which is answered, gets its first token 25 slots after its
    /// beginning, though its free tokens are over before; one whose packets answer all but one goes on when they are over.
    #[test]
    fn free_tokens_count_in_the_window() {
        let mut tokens = Tokens::default();
        tokens.join(flow(0, 3, 3, 60), 0);
        assert_eq!(tokens.next_at(Time(0)), Time(60));
        assert_eq!([60, 70].map(|now| token(&mut tokens, now)), [None, None]);
        assert_eq!(tokens.next_at(Time(70)), Time(250));
        assert_eq!(token(&mut tokens, 250), Some(0));
        let mut tokens = Tokens::default();
        tokens.join(flow(0, 3, 3, 60), 0);
        tokens.arrived(ConnId(0), 1);
        tokens.arrived(ConnId(0), 3);
        assert_eq!([50, 60].map(|now| token(&mut tokens, now)), [None, Some(0)]);
    }
}
