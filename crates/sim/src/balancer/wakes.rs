//! Flows at ports that wait for a time: the balancer asks the engine for the first time of each port, and for others as these come.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::contract::path::Acts;
use crate::ids::LinkId;
use crate::units::Time;

/// The flows that wait, by port, with keys of the balancer's own.
#[derive(Clone, Debug)]
pub struct Wakes<K> {
    ports: BTreeMap<LinkId, Port<K>>,
}

/// The flows of one port.
#[derive(Clone, Debug)]
struct Port<K> {
    due: BTreeSet<(Time, K)>,
    /// Times that the engine has been asked for.
    asked: BTreeSet<Time>,
}

impl<K> Default for Wakes<K> {
    fn default() -> Self {
        Wakes { ports: BTreeMap::new() }
    }
}

impl<K: Ord + Copy> Wakes<K> {
    /// A flow at that port that was due `before` is due at another time. One of the past: it does not wait.
    pub fn put_off(
        &mut self,
        (port, flow): (LinkId, K),
        before: Time,
        due: Time,
        now: Time,
        acts: &mut Acts,
    ) {
        if due == before {
            return;
        }
        let own =
            self.ports.entry(port).or_insert_with(|| Port { due: BTreeSet::new(), asked: BTreeSet::new() });
        own.due.remove(&(before, flow));
        if due > now {
            own.due.insert((due, flow));
            own.ask(port, due, acts);
        }
    }

    /// A time has come that was asked for: the flows that are due, in the order of their times.
    pub fn come(&mut self, port: LinkId, now: Time, acts: &mut Acts) -> Vec<(Time, K)> {
        let own = self.ports.get_mut(&port).expect("a port that has asked");
        own.asked.remove(&now);
        let mut due = Vec::new();
        while let Some(&first) = own.due.first().filter(|(time, _)| *time <= now) {
            own.due.remove(&first);
            due.push(first);
        }
        if let Some(&(time, _)) = own.due.first() {
            own.ask(port, time, acts);
        }
        due
    }
}

impl<K> Port<K> {
    /// Asks for a time unless an earlier one is to come.
    fn ask(&mut self, port: LinkId, time: Time, acts: &mut Acts) {
        if self.asked.first().is_none_or(|first| *first > time) {
            self.asked.insert(time);
            acts.wakes.push((port, time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of flows due at 7, 5 and 9 us the engine is asked for 7, for 5, and, as these come, for the next; a flow that is put
    /// off leaves its first time without an effect.
    #[test]
    fn each_port_has_each_time_once() {
        let (port, us) = (LinkId(3), Time::from_us);
        let (mut wakes, mut acts) = (Wakes::default(), Acts::default());
        for (flow, due) in [('a', 7), ('b', 5), ('c', 9)] {
            wakes.put_off((port, flow), Time::ZERO, us(due), us(1), &mut acts);
        }
        assert_eq!(acts.wakes, [(port, us(7)), (port, us(5))]);
        wakes.put_off((port, 'b'), us(5), us(8), us(2), &mut acts);
        assert_eq!(wakes.come(port, us(5), &mut acts), []);
        assert_eq!(wakes.come(port, us(7), &mut acts), [(us(7), 'a')]);
        wakes.put_off((port, 'c'), us(9), Time::ZERO, us(7), &mut acts);
        assert_eq!(wakes.come(port, us(8), &mut acts), [(us(8), 'b')]);
        assert_eq!(acts.wakes, [(port, us(7)), (port, us(5)), (port, us(8))]);
    }
}
