//! Intervals at whose ends a port computes: the first begins with a packet, and they go on until the port is
//! idle.

use serde_json::json;

use crate::derived::{Derived, Longest, Values};
use crate::engine::contract::agent::AgentContext;
use crate::units::Time;

/// Interval of a network too small to derive one.
pub const LEAST: Time = Time::from_us(1);

/// Those of the fields that the scenario leaves to the network: the round trip of its longest path.
pub fn derived(fields: &[(&str, Derived<Time>)], longest: &Longest) -> Values {
    let rtt = longest.round_trip.max(LEAST);
    let left = fields.iter().filter(|(_, time)| *time == Derived::FromNetwork);
    left.map(|(field, _)| (field.to_string(), json!(rtt))).collect()
}

/// The intervals of one port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Intervals {
    begun: Option<Time>,
}

impl Intervals {
    /// When the present one began; none while the port rests.
    #[inline]
    pub fn begun(&self) -> Option<Time> {
        self.begun
    }

    /// Whether there is none, as the port rests.
    #[inline]
    pub fn rests(&self) -> bool {
        self.begun.is_none()
    }

    /// One of that length begins.
    pub fn begin(&mut self, length: Time, cx: &mut AgentContext) {
        self.begun = Some(cx.now);
        cx.tick_at(cx.now.saturating_add(length));
    }

    /// At a tick: how long the one that ends has been.
    pub fn length(&self, now: Time) -> Time {
        now - self.begun.expect("it has asked for the tick")
    }

    /// The port rests until the next packet.
    pub fn rest(&mut self) {
        self.begun = None;
    }
}
