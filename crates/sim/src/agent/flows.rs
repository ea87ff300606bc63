//! The flows that a port keeps, in the order of their numbers, each found in one step.
//!
//! Flows mostly come in that order, so that a new one is appended. A removed one leaves its place empty,
//! until more places are empty than taken: so the others keep theirs, and a table by the last bits of a
//! flow's number holds the place where it was found last. If the flow has moved, as after a flow that came
//! out of order, a binary search finds it.
//!
//! Memory: an entry and 4 bytes a flow, with room for up to four times as many as there have been at once: half of the
//! places may be empty, and half of the room is there for more.

use crate::engine::contract::numbers::Numbers;
use crate::ids::FlowId;

/// Flows, and the state of each.
#[derive(Clone, Debug)]
pub struct Flows<T> {
    entries: Vec<Entry<T>>,
    /// Entries that are not empty.
    len: usize,
    /// By the last bits of a flow's number, the place of the one that was looked for last.
    places: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    flow: FlowId,
    is_empty: bool,
    value: T,
}

impl<T> Default for Flows<T> {
    fn default() -> Self {
        Flows { entries: Vec::new(), len: 0, places: Vec::new() }
    }
}

impl<T: Copy> Flows<T> {
    /// How many they are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Where a flow stands, or would.
    #[inline]
    fn find(&mut self, flow: FlowId) -> Result<usize, usize> {
        if let Some(&place) = self.places.get(flow.index() & self.places.len().wrapping_sub(1))
            && self.entries.get(place as usize).is_some_and(|entry| entry.flow == flow)
        {
            return Ok(place as usize);
        }
        self.search(flow)
    }

    fn search(&mut self, flow: FlowId) -> Result<usize, usize> {
        let found = match self.entries.last() {
            Some(last) if last.flow < flow => Err(self.entries.len()),
            _ => self.entries.binary_search_by_key(&flow, |entry| entry.flow),
        };
        if let Ok(place) = found {
            self.note(flow, place);
        }
        found
    }

    fn note(&mut self, flow: FlowId, place: usize) {
        let last = self.places.len() - 1;
        self.places[flow.index() & last] = place as u32;
    }

    /// The state of a flow.
    #[inline]
    pub fn get(&mut self, flow: FlowId) -> Option<&mut T> {
        let place = self.find(flow).ok()?;
        let entry = &mut self.entries[place];
        (!entry.is_empty).then_some(&mut entry.value)
    }

    /// Stores this state of a flow; returns the earlier one.
    pub fn insert(&mut self, flow: FlowId, value: T) -> Option<T> {
        let new = Entry { flow, is_empty: false, value };
        match self.find(flow) {
            Ok(place) => {
                let old = std::mem::replace(&mut self.entries[place], new);
                self.len += usize::from(old.is_empty);
                (!old.is_empty).then_some(old.value)
            }
            Err(place) => {
                self.entries.insert(place, new);
                self.len += 1;
                if self.places.len() < self.entries.len() {
                    self.places.resize(self.entries.len().next_power_of_two(), 0);
                }
                self.note(flow, place);
                None
            }
        }
    }

    /// Removes a flow; returns its state.
    pub fn remove(&mut self, flow: FlowId) -> Option<T> {
        let place = self.find(flow).ok()?;
        let Entry { is_empty, value, .. } = &mut self.entries[place];
        if std::mem::replace(is_empty, true) {
            return None;
        }
        let value = *value;
        self.len -= 1;
        if 2 * self.len < self.entries.len() {
            self.entries.retain(|entry| !entry.is_empty);
        }
        Some(value)
    }

    /// Forgets those flows of which it is not true.
    pub fn retain(&mut self, mut stays: impl FnMut(&T) -> bool) {
        self.entries.retain(|entry| !entry.is_empty && stays(&entry.value));
        self.len = self.entries.len();
    }

    /// Flows get their numbers, which leave their order as it is.
    pub fn number(&mut self, numbers: &Numbers) {
        for entry in self.entries.iter_mut().rev() {
            if !numbers.give(&mut entry.flow) {
                break;
            }
        }
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &T)> {
        let there = self.entries.iter().filter(|entry| !entry.is_empty);
        there.map(|entry| (entry.flow, &entry.value))
    }

    /// Inconsistencies of its own structures.
    pub fn audit(&self, found: &mut dyn FnMut(String)) {
        let counted = self.iter().count();
        if counted != self.len {
            found(format!("{counted} flows are kept, {} counted", self.len));
        }
        if !self.entries.is_sorted_by(|a, b| a.flow < b.flow) {
            found("flows are not in the order of their numbers".to_string());
        }
    }

    /// Bytes that they take beyond the table's own size.
    pub fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<T>>() + self.places.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a map: whatever the order of insertions and removals, each flow has the state that was
        /// stored last.
        #[test]
        fn agrees_with_a_map(deeds in prop::collection::vec((0u8..8, 0u32..40, any::<u32>()), 1..300)) {
            let (mut flows, mut map) = (Flows::default(), BTreeMap::new());
            let mut newest = 0;
            for (deed, number, value) in deeds {
                match deed {
                    0..3 => prop_assert_eq!(flows.insert(FlowId(number), value), map.insert(number, value)),
                    3 | 4 => prop_assert_eq!(flows.remove(FlowId(number)), map.remove(&number)),
                    5 => {
                        flows.retain(|kept| kept % 3 != value % 3);
                        map.retain(|_, kept| *kept % 3 != value % 3);
                    }
                    6 => {
                        newest = 40.max(newest + 1);
                        prop_assert_eq!(flows.insert(FlowId(newest), value), map.insert(newest, value));
                    }
                    _ => prop_assert_eq!(flows.get(FlowId(number)).copied(), map.get(&number).copied()),
                }
                let all: Vec<(u32, u32)> = flows.iter().map(|(flow, value)| (flow.0, *value)).collect();
                prop_assert_eq!(&all, &map.iter().map(|(flow, value)| (*flow, *value)).collect::<Vec<_>>());
                prop_assert_eq!(flows.len(), map.len());
                flows.audit(&mut |what| panic!("{what}"));
            }
        }
    }

    /// Ten thousand at once that end one after the other: neither the entries nor the table of places grow beyond the
    /// promised room.
    #[test]
    fn memory_is_bounded_by_the_most_at_once() {
        let mut flows = Flows::default();
        for first in 0..10_000 {
            flows.insert(FlowId(first), 0u64);
        }
        for first in 0..90_000 {
            flows.insert(FlowId(first + 10_000), 0);
            assert_eq!(flows.remove(FlowId(first)), Some(0));
        }
        assert_eq!(flows.len(), 10_000);
        assert!(flows.heap_bytes() <= 32_768 * (size_of::<Entry<u64>>() + 4), "{}", flows.heap_bytes());
    }
}
