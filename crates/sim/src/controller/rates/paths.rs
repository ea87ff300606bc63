//! Paths as lists of link numbers, one behind the other.

use super::bytes;

/// A list of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Behind the last link of each path.
    ends: Vec<u32>,
    links: Vec<u32>,
}

impl Paths {
    /// Adds a path.
    #[inline]
    pub fn push(&mut self, links: &[u32]) {
        self.links.extend(links);
        self.ends.push(self.links.len() as u32);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.links.clear();
    }

    /// Bytes that it takes beyond its own size.
    pub(super) fn heap_bytes(&self) -> usize {
        bytes(&self.ends) + bytes(&self.links)
    }

    /// The links of the path with that number, from 0.
    pub fn links(&self, path: usize) -> &[u32] {
        let start = if path == 0 { 0 } else { self.ends[path - 1] };
        &self.links[start as usize..self.ends[path] as usize]
    }
}
