//! Both ends of a flow as a whole: which data goes by which subflow, and what has arrived by any of them.
//!
//! Data is cut into segments of a full payload, the last one shorter, numbered from the first byte of the flow on. A
//! subflow's own segments are numbered apart, by TCP; its mapping says which data each of them carries (RFC 8684, 3.3.1).

use std::collections::VecDeque;

use super::Coupling;
use super::lia::{self, Path, Terms};
use crate::transport::reassembly::{Arrival, Reassembly};
use crate::transport::source::{Next, Source};
use crate::transport::tcp::congestion::{Siblings, Window};
use crate::transport::tcp::connection::Sender;
use crate::units::Time;

/// The sending end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    size: u64,
    /// Payload of a full segment.
    mss: u64,
    /// How far beyond the first byte that is not known to have arrived may be sent.
    window: u64,
    /// The next data that has not been sent: number of the segment, and its first byte.
    next: u32,
    next_offset: u64,
    /// Data that is known to have arrived, by acknowledgements of the subflows that carried it.
    arrived: Reassembly,
    /// Data that a subflow has given up, for the others: its number, and the subflow.
    again: VecDeque<(u32, u8)>,
    /// By subflow.
    mappings: Vec<Mapping>,
    /// By subflow, side by side: an acknowledgement on any of them needs those of all.
    terms: Vec<Terms>,
    coupling: Coupling,
    /// When the flow is due; [`Time::NEVER`] without a deadline.
    due: Time,
}

/// What a subflow carries.
#[derive(Clone, Debug, Default)]
struct Mapping {
    /// Number of the first segment of the subflow that is not acknowledged.
    una: u32,
    /// The data in it and in those behind it.
    data: VecDeque<u32>,
    /// Segments of the subflow before this one have been given to the others.
    given: u32,
    /// What the window is to grow by beyond whole bytes.
    fraction: f64,
}

impl Outgoing {
    /// Starts over for a flow of `size` bytes, with the memory of the one before.
    pub fn reset(&mut self, size: u64, mss: u64, window: u64, subflows: usize, pace: (Time, Coupling)) {
        let (due, coupling) = pace;
        let mut arrived = std::mem::take(&mut self.arrived);
        arrived.clear();
        let mut again = std::mem::take(&mut self.again);
        again.clear();
        let mut mappings = std::mem::take(&mut self.mappings);
        mappings.resize_with(subflows, Mapping::default);
        for mapping in &mut mappings {
            let mut data = std::mem::take(&mut mapping.data);
            data.clear();
            *mapping = Mapping { data, ..Mapping::default() };
        }
        let mut terms = std::mem::take(&mut self.terms);
        terms.clear();
        terms.resize(subflows, Terms::default());
        *self = Outgoing {
            size,
            mss,
            window,
            next: 0,
            next_offset: 0,
            arrived,
            again,
            mappings,
            terms,
            coupling,
            due,
        };
    }

    /// Whether all is known to have arrived.
    pub fn is_over(&self) -> bool {
        self.arrived.received() == self.size
    }

    /// The flow as one of its subflows sees it.
    pub fn share(&mut self, own: u8) -> Share<'_> {
        Share { flow: self, own }
    }

    /// Whether new data waits for the receiver's window.
    pub fn is_blocked(&self) -> bool {
        self.next_offset < self.size && self.next_offset + self.next_len() > self.limit()
    }

    fn limit(&self) -> u64 {
        self.arrived.in_order().saturating_add(self.window)
    }

    /// Bytes of the next data that has not been sent.
    fn next_len(&self) -> u64 {
        self.mss.min(self.size - self.next_offset)
    }

    /// Bytes of that segment of the data.
    fn len(&self, number: u32) -> u64 {
        self.mss.min(self.size - u64::from(number) * self.mss)
    }

    /// The segments of a subflow before `una` are acknowledged, and with them the data that they carried.
    pub fn acknowledged(&mut self, own: u8, una: u32) {
        while self.mappings[own as usize].una < una {
            let mapping = &mut self.mappings[own as usize];
            let number = mapping.data.pop_front().expect("what is acknowledged has been sent");
            mapping.una += 1;
            let len = self.len(number) as u16;
            self.arrived.receive(number, len);
        }
        self.forget_arrived();
    }

    /// What has arrived meanwhile need not be given to anybody.
    fn forget_arrived(&mut self) {
        while let Some(&(number, _)) = self.again.front()
            && self.arrived.has(number)
        {
            self.again.pop_front();
        }
    }

    /// A subflow has given up what it has under way: the others get it, too, each segment once. Whether there is any.
    pub fn give_up(&mut self, own: u8) -> bool {
        let mapping = &mut self.mappings[own as usize];
        let first = mapping.given.max(mapping.una);
        mapping.given = mapping.una + mapping.data.len() as u32;
        let before = self.again.len();
        for &number in mapping.data.range((first - mapping.una) as usize..) {
            if !self.arrived.has(number) {
                self.again.push_back((number, own));
            }
        }
        self.again.len() > before
    }

    /// Takes note of how a subflow is.
    pub fn note(&mut self, own: u8, sender: &Sender) {
        let round_trip = sender.round_trip().filter(|&round_trip| round_trip > Time::ZERO);
        self.terms[own as usize] = Path { window: sender.steady_window(), round_trip }.into();
    }

    /// Number of the data in a segment of a subflow, and whether it is the last.
    pub fn mapped(&self, own: u8, number: u32) -> (u32, bool) {
        let mapping = &self.mappings[own as usize];
        let data = mapping.data[(number - mapping.una) as usize];
        (data, (u64::from(data) + 1) * self.mss >= self.size)
    }
}

/// The sending end of a flow, for one of its subflows.
pub struct Share<'a> {
    flow: &'a mut Outgoing,
    own: u8,
}

impl Share<'_> {
    /// Data that another subflow has given up.
    fn again(&self) -> Option<u32> {
        let &(number, from) = self.flow.again.front()?;
        (from != self.own).then_some(number)
    }
}

impl Source for Share<'_> {
    /// What another subflow has given up goes first, then what has not been sent, as far as the receiver has room.
    fn next(&mut self, _max: u32) -> Next {
        let flow = &mut *self.flow;
        let number = match flow.again.front() {
            Some(&(number, from)) if from != self.own => {
                flow.again.pop_front();
                flow.forget_arrived();
                number
            }
            _ if flow.next_offset == flow.size || flow.is_blocked() => return Next::Nothing,
            _ => {
                flow.next_offset += flow.next_len();
                flow.next += 1;
                flow.next - 1
            }
        };
        flow.mappings[self.own as usize].data.push_back(number);
        let (offset, len) = (u64::from(number) * flow.mss, flow.len(number) as u32);
        // A subflow never knows whether something will be given to it.
        Next::Range { offset, len, last: false }
    }

    fn left(&self) -> u64 {
        self.flow.size - self.flow.next_offset
    }

    fn due(&self) -> Time {
        self.flow.due
    }

    #[inline]
    fn peek(&self, _max: u64) -> u64 {
        match self.again() {
            Some(number) => self.flow.len(number),
            None if self.flow.is_blocked() => 0,
            None => self.flow.next_len(),
        }
    }
}

impl Siblings for Share<'_> {
    /// Whole bytes; what is left of the last one counts the next time.
    fn increase(&mut self, window: &Window, acked: u64) -> Option<u64> {
        if self.flow.coupling == Coupling::Uncoupled {
            return None;
        }
        let grown = lia::increase(&self.flow.terms, window.cwnd, acked, window.mss);
        let fraction = &mut self.flow.mappings[self.own as usize].fraction;
        let whole = (*fraction + grown) as u64;
        *fraction += grown - whole as f64;
        Some(whole)
    }
}

/// The receiving end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    data: Reassembly,
    /// Number of the last data plus one, once it is known.
    end: Option<u32>,
    complete: bool,
}

/// What a segment brings to the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brought {
    /// Whether its data has not come before.
    pub new: bool,
    /// Whether all is there with it, which was not before.
    pub completes: bool,
}

impl Incoming {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self) {
        self.data.clear();
        *self = Incoming { data: std::mem::take(&mut self.data), ..Incoming::default() };
    }

    /// Data has come by one of the subflows.
    pub fn receive(&mut self, number: u32, last: bool, len: u16) -> Brought {
        let new = self.data.receive(number, len) != Arrival::Duplicate;
        if last {
            self.end = Some(number + 1);
        }
        let completes = !self.complete && self.end == Some(self.data.next());
        self.complete |= completes;
        Brought { new, completes }
    }

    /// Whether all is there.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Bytes that have arrived, each counted once.
    pub fn received(&self) -> u64 {
        self.data.received()
    }
}
