//! The source of a sender's bytes: a sender holds no flow size and takes the next range from here.

use std::collections::VecDeque;
use std::iter;

use crate::ids::ConnId;
use crate::units::Time;

/// A source's reply when a sender may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// So many bytes from this offset of the data; the last range of all is marked.
    Range {
        /// Place in the data, which is not the place in the connection's sequence space.
        offset: u64,
        /// Bytes, at most as many as requested.
        len: u32,
        last: bool,
    },
    /// Nothing at this moment; the source will report when it has data.
    Nothing,
    End,
}

/// Where a sender's bytes come from.
pub trait Source {
    /// The next range, at most `max` bytes long.
    fn next(&mut self, max: u32) -> Next;

    /// Bytes that it has left to give, at this moment or later.
    fn left(&self) -> u64;

    /// The flow that a segment of the connection carries, by the segment's number and the place of its first byte in the
    /// sequence space. The slot of a connection that carries one flow is the flow's, too.
    #[inline]
    fn flow_at(&self, number: u32, place: u64, own: ConnId) -> Message {
        let _ = (number, place);
        Message { flow: own, begin: 0, end: u64::MAX, due: Time::NEVER }
    }

    /// Takes off the first flow if everything before `una` is acknowledged, and so is all of it: to be called
    /// until there is none.
    #[inline]
    fn take_acknowledged(&mut self, una: u64) -> Option<ConnId> {
        let _ = una;
        None
    }

    /// Bytes that are not acknowledged of the first flow that is not wholly, if everything before `una` is and everything
    /// before `sent` has been sent.
    fn to_go(&self, una: u64, sent: u64) -> u64 {
        sent - una + self.left()
    }

    /// When that flow is due; [`Time::NEVER`] without a deadline, or if there is none.
    fn due(&self, una: u64) -> Time {
        let _ = una;
        Time::NEVER
    }

    /// Bytes that a loss takes from the window, if other connections of the same flow decide that.
    fn takes(&self) -> Option<u64> {
        None
    }

    /// How long the next range would be at this moment, if no more than `max` bytes were requested.
    #[inline]
    fn peek(&self, max: u64) -> u64 {
        self.left().min(max)
    }
}

/// The smallest source: a flow of so many bytes, from front to back.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainFlow {
    size: u64,
    sent: u64,
}

impl PlainFlow {
    /// A flow of `size` bytes.
    pub fn new(size: u64) -> PlainFlow {
        PlainFlow { size, sent: 0 }
    }
}

impl Source for PlainFlow {
    #[inline]
    fn next(&mut self, max: u32) -> Next {
        let len = self.left().min(u64::from(max)) as u32;
        if len == 0 {
            return Next::End;
        }
        let offset = self.sent;
        self.sent += u64::from(len);
        Next::Range { offset, len, last: self.sent == self.size }
    }

    #[inline]
    fn left(&self) -> u64 {
        self.size - self.sent
    }
}

/// A flow among those that one connection carries.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The flow's slot.
    pub flow: ConnId,
    /// Its first byte in the sequence space of the connection, and the one behind its last.
    pub begin: u64,
    /// See `begin`.
    pub end: u64,
    /// When it is due; [`Time::NEVER`] without a deadline.
    pub due: Time,
}

impl Message {
    /// None: everything is acknowledged.
    const NONE: Message = Message { flow: ConnId::NONE, begin: u64::MAX, end: u64::MAX, due: Time::NEVER };
}

/// Flows that go one behind the other over a connection: one, if it is that flow's own. No range has bytes of two.
#[derive(Clone, Debug)]
pub struct Messages {
    /// The first that is not wholly acknowledged, and those behind it.
    first: Message,
    behind: VecDeque<Message>,
    /// Bytes that have been given.
    given: u64,
    /// Where the flow ends of which they are given: all behind it wait.
    stop: u64,
    /// Where the last flow ends.
    end: u64,
}

impl Default for Messages {
    fn default() -> Self {
        Messages { first: Message::NONE, behind: VecDeque::new(), given: 0, stop: 0, end: 0 }
    }
}

impl Messages {
    /// Starts over without any, with the memory of before.
    pub fn reset(&mut self) {
        let mut behind = std::mem::take(&mut self.behind);
        behind.clear();
        *self = Messages { behind, ..Messages::default() };
    }

    /// Whether there has never been any.
    pub fn is_fresh(&self) -> bool {
        self.end == 0
    }

    /// The first that is not wholly acknowledged, if everything before `una` is: an acknowledgement that is still being handled
    /// may be of all of the first ones.
    fn to_acknowledge(&self, una: u64) -> Option<&Message> {
        if self.first.flow == ConnId::NONE {
            return None;
        }
        iter::once(&self.first).chain(&self.behind).find(|message| una < message.end)
    }

    /// A flow of `size` bytes, behind all others.
    pub fn push(&mut self, flow: ConnId, size: u64, due: Time) {
        let message = Message { flow, begin: self.end, end: self.end + size, due };
        self.end = message.end;
        if self.given == self.stop {
            self.stop = message.end;
        }
        match self.first.flow {
            ConnId::NONE => self.first = message,
            _ => self.behind.push_back(message),
        }
    }
}

impl Source for Messages {
    #[inline]
    fn next(&mut self, max: u32) -> Next {
        let len = self.left().min(u64::from(max)) as u32;
        if len == 0 {
            return Next::End;
        }
        let offset = self.given;
        self.given += u64::from(len);
        let last = self.given == self.stop;
        if last && self.stop < self.end {
            let next = self.behind.iter().find(|message| message.end > self.given);
            self.stop = next.expect("the last one ends there").end;
        }
        Next::Range { offset, len, last }
    }

    #[inline]
    fn left(&self) -> u64 {
        self.stop - self.given
    }

    #[inline]
    fn flow_at(&self, _number: u32, place: u64, _own: ConnId) -> Message {
        if place < self.first.end {
            return self.first;
        }
        *self.behind.iter().find(|message| place < message.end).expect("it has been given")
    }

    #[inline]
    fn take_acknowledged(&mut self, una: u64) -> Option<ConnId> {
        if una < self.first.end {
            return None;
        }
        let next = self.behind.pop_front().unwrap_or(Message::NONE);
        Some(std::mem::replace(&mut self.first, next).flow)
    }

    fn to_go(&self, una: u64, _sent: u64) -> u64 {
        self.to_acknowledge(una).map_or(0, |message| message.end - una)
    }

    fn due(&self, una: u64) -> Time {
        self.to_acknowledge(una).map_or(Time::NEVER, |message| message.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of 1,000, 500 and 200 bytes, due after 1, 2 and 3 us. The acknowledgement of 1,000 bytes is of all of the first one:
    /// 500 are left, of the second, though the first is not taken off yet; that of 1,550 leaves 150 of the third, and that of
    /// all none, without a deadline.
    #[test]
    fn the_first_message_that_is_not_acknowledged() {
        let mut messages = Messages::default();
        assert_eq!((messages.to_go(0, 0), messages.due(0)), (0, Time::NEVER));
        for (number, size) in [(1, 1_000), (2, 500), (3, 200)] {
            messages.push(ConnId(number), size, Time::from_us(u64::from(number)));
        }
        for (una, left, due_us) in
            [(0, 1_000, 1), (999, 1, 1), (1_000, 500, 2), (1_499, 1, 2), (1_550, 150, 3)]
        {
            assert_eq!((messages.to_go(una, una), messages.due(una)), (left, Time::from_us(due_us)), "{una}");
        }
        assert_eq!((messages.to_go(1_700, 1_700), messages.due(1_700)), (0, Time::NEVER));
        assert_eq!(messages.take_acknowledged(1_550), Some(ConnId(1)));
        assert_eq!((messages.to_go(1_550, 1_700), messages.due(1_550)), (150, Time::from_us(3)));
    }

    /// Messages of 1,000 and 500 bytes, and one of 200 that comes after 900 are given: no range has bytes of two, and each
    /// message's last range is known as such. One of 300 comes when all are given, and they go at once.
    #[test]
    fn no_range_has_bytes_of_two_messages() {
        let mut messages = Messages::default();
        let range = |offset, len, last| Next::Range { offset, len, last };
        messages.push(ConnId(1), 1_000, Time::NEVER);
        messages.push(ConnId(2), 500, Time::NEVER);
        assert_eq!(messages.next(900), range(0, 900, false));
        messages.push(ConnId(3), 200, Time::NEVER);
        assert_eq!(messages.left(), 100);
        let rest = [0; 4].map(|_| messages.next(900));
        assert_eq!(
            rest,
            [range(900, 100, true), range(1_000, 500, true), range(1_500, 200, true), Next::End]
        );
        messages.push(ConnId(4), 300, Time::NEVER);
        assert_eq!([0; 2].map(|_| messages.next(900)), [range(1_700, 300, true), Next::End]);
    }
}
