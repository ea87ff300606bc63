//! The packets that a sender has sent and that are not yet acknowledged cumulatively.

use std::collections::VecDeque;

/// Packets by number, from the first that is not acknowledged on. `N` is a transport's note on each.
#[derive(Clone, Debug, Default)]
pub struct SentList<N> {
    packets: VecDeque<Sent<N>>,
    base: u32,
    lost: u32,
    /// No packet before it is lost.
    repair: u32,
}

/// A packet that has been sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<N> {
    pub len: u16,
    pub state: State,
    /// The transport's note.
    pub note: N,
}

/// A sender's state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    InFlight,
    /// It is to be sent again.
    Lost,
    Acknowledged,
}

impl<N: Copy + Default> SentList<N> {
    /// Nothing has been sent: another flow begins, in the same memory.
    pub fn restart(self) -> SentList<N> {
        let mut packets = self.packets;
        packets.clear();
        SentList { packets, ..SentList::default() }
    }

    /// Number of the first packet that is not acknowledged.
    #[inline]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// Number of the next packet that has not been sent.
    #[inline]
    pub fn end(&self) -> u32 {
        self.base + self.packets.len() as u32
    }

    /// Whether all that has been sent is acknowledged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Packets that are to be sent again.
    #[inline]
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// A packet that was not sent before is in flight from now on: its number.
    #[inline]
    pub fn push(&mut self, len: u16, note: N) -> u32 {
        self.packets.push_back(Sent { len, state: State::InFlight, note });
        self.end() - 1
    }

    /// A packet, unless it and all before it are acknowledged.
    #[inline]
    pub fn get(&self, number: u32) -> Option<Sent<N>> {
        number.checked_sub(self.base).map(|place| self.packets[place as usize])
    }

    /// The first packet that is to be sent again, where there is one.
    pub fn first_lost(&self) -> u32 {
        let first = self.repair.max(self.base);
        let lost = self.packets.iter().skip((first - self.base) as usize);
        first + lost.take_while(|sent| sent.state != State::Lost).count() as u32
    }

    /// A packet is sent, perhaps as a retransmission: the note on it, and whether it was lost.
    #[inline]
    pub fn send(&mut self, number: u32) -> (&mut Sent<N>, bool) {
        let sent = &mut self.packets[(number - self.base) as usize];
        let again = sent.state == State::Lost;
        if again {
            self.lost -= 1;
        }
        sent.state = State::InFlight;
        (sent, again)
    }

    /// The first lost packet is retransmitted.
    #[inline]
    pub fn send_first_lost(&mut self) -> u32 {
        let number = self.first_lost();
        self.send(number);
        self.repair = number + 1;
        number
    }

    /// A packet is acknowledged: its state until now, unless that was known.
    #[inline]
    pub fn acknowledge(&mut self, number: u32) -> Option<Sent<N>> {
        let sent = &mut self.packets[number.checked_sub(self.base)? as usize];
        let before = *sent;
        sent.state = State::Acknowledged;
        match before.state {
            State::InFlight => {}
            State::Lost => self.lost -= 1,
            State::Acknowledged => return None,
        }
        while self.packets.front().is_some_and(|sent| sent.state == State::Acknowledged) {
            self.packets.pop_front();
            self.base += 1;
        }
        Some(before)
    }

    /// A packet in flight is to be retransmitted.
    pub fn lose(&mut self, number: u32) {
        self.packets[(number - self.base) as usize].state = State::Lost;
        self.lost += 1;
        self.repair = self.repair.min(number);
    }

    /// All packets in flight are to be retransmitted.
    pub fn lose_all(&mut self) {
        for sent in self.packets.iter_mut().filter(|sent| sent.state == State::InFlight) {
            sent.state = State::Lost;
            self.lost += 1;
        }
        self.repair = self.base;
    }

    /// Those of which so much is known.
    pub fn those(&self, state: State) -> impl Iterator<Item = Sent<N>> + '_ {
        self.packets.iter().copied().filter(move |sent| sent.state == state)
    }

    /// Inconsistencies of the list's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        let lost = self.those(State::Lost).count() as u32;
        if lost != self.lost {
            return Some(format!("{lost} packets are lost, counted {}", self.lost));
        }
        let repaired = self.repair.max(self.base) - self.base;
        let early = self.packets.iter().take(repaired as usize).any(|sent| sent.state == State::Lost);
        early.then(|| format!("a packet before number {} is lost", self.repair))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list that nothing is ever taken off: the state of each packet and the first that is lost.
        #[test]
        fn agrees_with_a_plain_list(deeds in prop::collection::vec((0u8..5, any::<prop::sample::Index>()), 1..200)) {
            let (mut list, mut plain) = (SentList::<u32>::default(), Vec::new());
            for (deed, index) in deeds {
                let number = if plain.is_empty() { 0 } else { index.index(plain.len()) };
                match deed {
                    0 | 1 => {
                        prop_assert_eq!(list.push(1, plain.len() as u32), plain.len() as u32);
                        plain.push(State::InFlight);
                    }
                    2 if !plain.is_empty() => {
                        let before = std::mem::replace(&mut plain[number], State::Acknowledged);
                        let was = list.acknowledge(number as u32);
                        prop_assert_eq!(was.map(|sent| (sent.note, sent.state)),
                            (before != State::Acknowledged).then_some((number as u32, before)));
                    }
                    3 if plain.get(number) == Some(&State::InFlight) => {
                        plain[number] = State::Lost;
                        list.lose(number as u32);
                    }
                    4 => {
                        if let Some(first) = plain.iter().position(|state| *state == State::Lost) {
                            prop_assert_eq!(list.send_first_lost(), first as u32);
                            plain[first] = State::InFlight;
                        } else {
                            list.lose_all();
                            plain.iter_mut().filter(|state| **state == State::InFlight)
                                .for_each(|state| *state = State::Lost);
                        }
                    }
                    _ => {}
                }
                prop_assert_eq!(list.audit(), None);
                prop_assert_eq!(list.end() as usize, plain.len());
                let base = plain.iter().take_while(|state| **state == State::Acknowledged).count();
                prop_assert_eq!(list.base() as usize, base);
                for (number, state) in plain.iter().enumerate() {
                    prop_assert_eq!(list.get(number as u32).map(|sent| sent.state), (number >= base).then_some(*state));
                }
            }
        }
    }
}
