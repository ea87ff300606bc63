//! A timer whose interval doubles with each expiry until a packet arrives, and the interval if the network determines it.

use serde_json::json;

use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer};
use crate::units::Time;

/// The interval is doubled so often at the most.
pub const DOUBLINGS_MOST: u32 = 6;

/// Lower bound of the derived interval (ours; Homa's paper has "a few milliseconds").
pub const INTERVAL_LEAST: Time = Time(1_000_000_000);

/// The value of the field of that name, if the scenario leaves it to the network: ten of the longest round trips, and at
/// least [`INTERVAL_LEAST`].
pub fn derived_interval(field: &str, interval: Derived<Time>, environment: &Environment) -> Values {
    match interval {
        Derived::Given(_) => Vec::new(),
        Derived::FromNetwork => {
            vec![(field.into(), json!(environment.longest.round_trips(10).max(INTERVAL_LEAST)))]
        }
    }
}

/// The timer, and its expiries since the last packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    timer: Timer,
    expiries: u32,
}

impl Backoff {
    /// Sets the timer to the interval, doubled for each expiry, from now on.
    pub fn restart(&mut self, interval: Time, owner: Owner, kind: u8, cx: &mut impl Host) {
        let due = cx.now() + Time(interval.0 << self.expiries.min(DOUBLINGS_MOST));
        cx.set_timer(&mut self.timer, due, owner, kind);
    }

    /// The interval is undoubled: a packet has arrived.
    pub fn reset(&mut self) {
        self.expiries = 0;
    }

    /// The next interval is twice as long.
    pub fn double(&mut self) {
        self.expiries += 1;
    }

    /// Whether the timer is due, at its event: see [`Host::timer_is_due`].
    pub fn is_due(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) -> bool {
        cx.timer_is_due(&mut self.timer, owner, kind)
    }

    /// Switches the timer off.
    pub fn clear(&mut self) {
        self.timer.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::FakeHost;
    use crate::ids::ConnId;

    /// 10 us, then 20, 40 and so on to 640 us, which stays; after a packet 10 us.
    #[test]
    fn intervals_double_six_times() {
        let mut host = FakeHost::pair(1);
        let mut backoff = Backoff::default();
        let mut interval = |backoff: &mut Backoff| {
            backoff.clear();
            backoff.restart(Time::from_us(10), Owner::Sender(ConnId(0)), 0, &mut host);
            backoff.timer.due()
        };
        for doublings in [0, 1, 2, 3, 4, 5, 6, 6, 6] {
            assert_eq!(interval(&mut backoff), Time::from_us(10 << doublings));
            backoff.double();
        }
        backoff.reset();
        assert_eq!(interval(&mut backoff), Time::from_us(10));
    }
}
