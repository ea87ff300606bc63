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
    /// After this time without an answer these are forgiven.
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
    /// Packets before it have had a token, or came without one, in this pass over the flow.
    pub next: u32,
    /// Tokens sent, and the last one that a packet has answered, counted from 1.
    pub sent: u32,
    answered: u32,
    wait: Wait,
    due: Time,
}

impl Entry {
    /// A flow that begins. The first `free` of its packets come without tokens; if these are all, they have until `due`.
    pub fn new(conn: ConnId, packets: u32, free: u32, due: Time) -> Entry {
        let wait = if free == packets { Wait::Pass } else { Wait::None };
        Entry { conn, left: packets, next: free, sent: 0, answered: 0, wait, due }
    }

    fn may_have_one(&self, now: Time) -> bool {
        self.wait == Wait::None || self.due <= now
    }
}

/// The flows of one interface.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    flows: Vec<Entry>,
    /// Slots that are left out for packets that come without tokens.
    left_out: u32,
    next_at: Time,
    pub timer: Timer,
}

impl Tokens {
    /// A flow begins: as many slots are left out as packets of it come without tokens.
    pub fn join(&mut self, entry: Entry, free: u32) {
        self.left_out = free;
        self.flows.push(entry);
    }

    /// A flow has all its packets.
    pub fn leave(&mut self, conn: ConnId) {
        self.flows.retain(|flow| flow.conn != conn);
    }

    /// A new packet of a flow has arrived, which answers the token of that number; 0: it came without one.
    pub fn arrived(&mut self, conn: ConnId, answers: u32, rules: &Rules) {
        let flow = self.flows.iter_mut().find(|flow| flow.conn == conn);
        let flow = flow.expect("a flow stays until all of it has arrived");
        flow.left -= 1;
        flow.answered = flow.answered.max(answers);
        if flow.wait == Wait::Window && flow.sent - flow.answered < rules.window {
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
        let flow =
            self.flows.iter_mut().filter(|flow| flow.may_have_one(now)).min_by_key(|flow| flow.left)?;
        match flow.wait {
            Wait::None => {}
            Wait::Window => flow.answered = flow.sent,
            Wait::Pass => flow.next = 0,
        }
        (flow.wait, flow.sent) = (Wait::None, flow.sent + 1);
        self.next_at = now + slot;
        Some(*flow)
    }

    /// The flow has got its token, for the packet before `next`; whether that was the last of this pass.
    pub fn given(
        &mut self,
        conn: ConnId,
        next: u32,
        is_last: bool,
        (now, slot): (Time, Time),
        rules: &Rules,
    ) {
        let flow = self.flows.iter_mut().find(|flow| flow.conn == conn).expect("it has just been taken");
        flow.next = next;
        if is_last {
            (flow.wait, flow.due) = (Wait::Pass, now.saturating_add(slots(slot, rules.resend)));
        } else if flow.sent - flow.answered >= rules.window {
            (flow.wait, flow.due) = (Wait::Window, now.saturating_add(slots(slot, rules.window_timeout)));
        }
    }

    /// When the next slot is of use; [`Time::NEVER`] without flows.
    pub fn next_at(&self, now: Time) -> Time {
        let due = |flow: &Entry| if flow.may_have_one(now) { now } else { flow.due };
        match self.flows.iter().map(due).min() {
            None => Time::NEVER,
            Some(_) if self.left_out > 0 => self.next_at.max(now),
            Some(due) => self.next_at.max(due),
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

    /// The connection that gets a token now, of a flow without an end in sight.
    fn token(tokens: &mut Tokens, now: u64) -> Option<u32> {
        let entry = tokens.take(Time(now), SLOT)?;
        tokens.given(entry.conn, entry.next + 1, false, (Time(now), SLOT), &RULES);
        Some(entry.conn.0)
    }

    /// Of 20 and 10 packets the shorter flow has its window of three tokens, then the other one; an answer to the third token
    /// opens the window, and 25 slots without one do.
    #[test]
    fn a_flow_without_answers_is_blocked() {
        let mut tokens = Tokens::default();
        tokens.join(Entry::new(ConnId(0), 20, 0, Time(0)), 0);
        tokens.join(Entry::new(ConnId(1), 10, 0, Time(0)), 0);
        let order: Vec<_> = (0..7).map(|slot| token(&mut tokens, 10 * slot)).collect();
        assert_eq!(order, [Some(1), Some(1), Some(1), Some(0), Some(0), Some(0), None]);
        assert_eq!(tokens.next_at(Time(60)), Time(20 + 250));
        tokens.arrived(ConnId(0), 2, &RULES);
        assert_eq!(tokens.next_at(Time(60)), Time(60));
        assert_eq!([60, 70, 80].map(|now| token(&mut tokens, now)), [Some(0), Some(0), None]);
        assert_eq!(
            [270, 280, 290, 300].map(|now| token(&mut tokens, now)),
            [Some(1), Some(1), Some(1), None]
        );
    }

    /// Slots are a packet's time apart, and left out for packets without tokens.
    #[test]
    fn slots_are_left_out() {
        let mut tokens = Tokens::default();
        tokens.join(Entry::new(ConnId(0), 20, 0, Time(0)), 0);
        assert_eq!([0, 9, 10].map(|now| token(&mut tokens, now)), [Some(0), None, Some(0)]);
        tokens.join(Entry::new(ConnId(1), 2, 2, Time(60)), 2);
        assert_eq!([20, 30, 40].map(|now| token(&mut tokens, now)), [None, None, Some(0)]);
        // Its packets have not come: they get tokens, from the first on.
        assert_eq!(tokens.next_at(Time(50)), Time(60));
        assert_eq!(tokens.take(Time(60), SLOT).map(|entry| (entry.conn.0, entry.next)), Some((1, 0)));
        tokens.leave(ConnId(1));
        tokens.leave(ConnId(0));
        assert_eq!(tokens.next_at(Time(70)), Time::NEVER);
    }
}
