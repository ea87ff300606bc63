//! Where a sender's bytes come from: it owns no flow size, it asks for the next range.

/// What a source answers when a sender may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// So many bytes from this offset of the data; the last range of all says so.
    Range {
        /// Place in the data, which is not the place in the connection's sequence space.
        offset: u64,
        /// Bytes, at most as many as were asked for.
        len: u32,
        /// Whether nothing will follow.
        last: bool,
    },
    /// Nothing at this moment; the source will say when there is.
    Nothing,
    /// Nothing any more.
    End,
}

/// Where a sender's bytes come from.
pub trait Source {
    /// The next range, at most `max` bytes long.
    fn next(&mut self, max: u32) -> Next;

    /// Bytes that it has left to give, at this moment or later.
    fn left(&self) -> u64;

    /// How long the next range would be at this moment, if no more than `max` bytes were asked for.
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
