//! A first-in first-out ring: `VecDeque` with fewer instructions a packet, and warm when it is short.
//!
//! A ring that runs empty starts again at its front, so that a port whose queue is short touches one cache line
//! and not, one after the other, all those that it once needed.

/// Items, first to last.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// None, or a power of two of them.
    items: Vec<T>,
    head: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { items: Vec::new(), head: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// How many.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    fn place(&self, behind_head: u32) -> usize {
        (self.head + behind_head) as usize & self.items.len().wrapping_sub(1)
    }

    /// Puts an item behind the others.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.len as usize == self.items.len() {
            self.grow(item);
        }
        let place = self.place(self.len);
        self.items[place] = item;
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self, filler: T) {
        self.items.rotate_left(self.head as usize);
        self.head = 0;
        self.items.resize((self.items.len() * 2).max(8), filler);
    }

    /// The first item.
    #[inline(always)]
    pub fn first(&self) -> Option<T> {
        (self.len > 0).then(|| self.items[self.head as usize])
    }

    /// Takes the first item.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.first()?;
        self.len -= 1;
        self.head = if self.len == 0 { 0 } else { self.place(1) as u32 };
        Some(first)
    }

    /// Takes the last item.
    pub fn pop_last(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        Some(self.items[self.place(self.len)])
    }

    /// The last item.
    pub fn last(&self) -> Option<T> {
        Some(self.items[self.place(self.len.checked_sub(1)?)])
    }

    /// First to last.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len).map(|behind| self.items[self.place(behind)])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// After any operations it has the contents of a `VecDeque`.
        #[test]
        fn like_a_deque(deeds in prop::collection::vec(0..5u8, 0..200)) {
            let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
            for (number, deed) in deeds.into_iter().enumerate() {
                match deed {
                    0 => prop_assert_eq!(ring.pop(), deque.pop_front()),
                    1 => prop_assert_eq!(ring.pop_last(), deque.pop_back()),
                    _ => {
                        ring.push(number);
                        deque.push_back(number);
                    }
                }
                prop_assert_eq!(ring.first(), deque.front().copied());
                prop_assert_eq!(ring.last(), deque.back().copied());
                prop_assert_eq!((ring.len() as usize, ring.is_empty()), (deque.len(), deque.is_empty()));
                prop_assert!(ring.iter().eq(deque.iter().copied()));
            }
        }
    }
}
