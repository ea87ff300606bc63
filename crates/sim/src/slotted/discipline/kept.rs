//! Lists of flows that a discipline keeps from slot to slot, in an order of its own.

use crate::slotted::Flow;

/// The place of a flow that has left.
const NOWHERE: u32 = u32::MAX;

/// Ids of the flows at the last call, by their places in the slot's list.
#[derive(Default)]
pub struct Known(Vec<u32>);

impl Known {
    /// Takes the entries of flows that have left out of a list, gives the others their new places, and appends an entry
    /// for each new flow. Returns how many entries stand before these. Flows stand in order of their ids.
    pub fn update<T>(
        &mut self,
        flows: &[Flow],
        list: &mut Vec<T>,
        place_of: impl Fn(&mut T) -> &mut u32,
        entry: impl Fn(u32) -> T,
    ) -> usize {
        let mut place = 0;
        // The old place of each flow becomes its new one, or NOWHERE.
        for known in &mut self.0 {
            let still_there = flows.get(place).is_some_and(|flow| flow.id == *known);
            *known = if still_there { place as u32 } else { NOWHERE };
            place += usize::from(still_there);
        }
        list.retain_mut(|entry| {
            let place = place_of(entry);
            *place = self.0[*place as usize];
            *place != NOWHERE
        });
        let kept = list.len();
        list.extend((place..flows.len()).map(|place| entry(place as u32)));
        self.0.clear();
        self.0.extend(flows.iter().map(|flow| flow.id));
        kept
    }
}

/// Moves an entry towards the head as long as it belongs before the next one; returns how many it passed.
pub fn insert<T: Copy>(list: &mut [T], from: usize, is_before: impl Fn(&T, &T) -> bool) -> usize {
    let own = list[from];
    let mut at = from;
    while at > 0 && is_before(&own, &list[at - 1]) {
        list[at] = list[at - 1];
        at -= 1;
    }
    list[at] = own;
    from - at
}
