//! Limits of the credit that one sender may hold of a receiver: two AIMD loops, by marks of ports and by marks of the sender.
//!
//! Source: Prasopoulos, Bugnion and Kogias, "SIRD: A Sender-Informed, Receiver-Driven Datacenter Transport Protocol", NSDI
//! 2025; rules and numbers after the authors' simulator, nwsim (`r2p2-cc-hybrid`). Both loops are those of DCTCP, on credit
//! instead of a window.

/// Constants of the loops, in bytes on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Credit that a sender may hold at most, at which both loops begin.
    pub most: u64,
    /// The least limit: by marks of ports, and by those of the sender.
    pub least: [u64; 2],
    /// A full packet, which the limit grows by in each window.
    pub full: u64,
    /// Weight of the last window in the share of marked packets.
    pub gain: f64,
    /// Whether marked packets raise the limit, too.
    pub every: bool,
}

/// One loop.
#[derive(Clone, Copy, Debug)]
struct Aimd {
    limit: u64,
    /// Mean share of marked packets.
    share: f64,
    /// Bytes and packets of the present window, and how many of these were marked.
    bytes: u64,
    packets: u32,
    marked: u32,
    /// Bytes since the last cut.
    since_cut: u64,
}

impl Aimd {
    fn arrived(&mut self, bytes: u64, is_marked: bool, both: u64, least: u64, rules: &Rules) {
        self.bytes += bytes;
        self.since_cut += bytes;
        self.packets += 1;
        self.marked += u32::from(is_marked);
        if self.bytes >= self.limit {
            let share = f64::from(self.marked) / f64::from(self.packets);
            self.share = (1.0 - rules.gain) * self.share + rules.gain * share;
            (self.bytes, self.packets, self.marked) = (0, 0, 0);
        }
        if !is_marked || rules.every {
            self.limit += rules.full * rules.full / both;
        }
        if is_marked && 2 * self.since_cut >= 3 * self.limit {
            self.limit -= (self.limit as f64 * self.share / 2.0) as u64;
            self.since_cut = 0;
        }
        self.limit = self.limit.clamp(least, rules.most);
    }
}

/// The limits of one sender.
#[derive(Clone, Copy, Debug)]
pub struct Limits([Aimd; 2]);

impl Limits {
    /// At the beginning both are the most.
    pub fn new(rules: &Rules) -> Limits {
        let first = Aimd { limit: rules.most, share: 0.0, bytes: 0, packets: 0, marked: 0, since_cut: 0 };
        Limits([first; 2])
    }

    /// The credit above which the sender gets no more.
    pub fn limit(&self) -> u64 {
        self.0[0].limit.min(self.0[1].limit)
    }

    /// A data packet of so many bytes on the wire has come, marked by a port or not, and by its sender or not.
    pub fn arrived(&mut self, bytes: u64, marked: [bool; 2], rules: &Rules) {
        let both = self.limit();
        for (index, own) in self.0.iter_mut().enumerate() {
            own.arrived(bytes, marked[index], both, rules.least[index], rules);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { most: 10_000, least: [300, 1000], full: 1000, gain: 0.5, every: false };

    fn limits(limits: &Limits) -> [u64; 2] {
        limits.0.map(|own| own.limit)
    }

    fn arrive(limits: &mut Limits, packets: u32, marked: [bool; 2], rules: &Rules) {
        (0..packets).for_each(|_| limits.arrived(1000, marked, rules));
    }

    /// A window of ten packets, all of them marked by the sender: the share is a half from the tenth on; the cut is due after one
    /// and a half windows, at the fifteenth: a quarter of the limit. The other limit stays at the most.
    #[test]
    fn a_marked_window_and_a_half_cuts() {
        let mut own = Limits::new(&RULES);
        arrive(&mut own, 14, [false, true], &RULES);
        assert_eq!((limits(&own), own.0[1].share), ([10_000, 10_000], 0.5));
        arrive(&mut own, 1, [false, true], &RULES);
        assert_eq!((limits(&own), own.limit()), ([10_000, 7500], 7500));
        // The window of 7.5 packets that began with the eleventh ends at the eighteenth; the next cut is due 11.25 packets after
        // the last one, at the twenty-seventh. Its share is 7/8: of the second, third and fourth window.
        arrive(&mut own, 11, [false, true], &RULES);
        assert_eq!((own.limit(), own.0[1].share), (7500, 0.875));
        arrive(&mut own, 1, [false, true], &RULES);
        assert_eq!(own.limit(), 7500 - (7500.0 * 0.875 / 2.0) as u64);
    }

    /// Packets without a mark raise a limit of 5000 B by a full packet for each five: 200, then by 1000²/5200 = 192. Both limits
    /// rise by the smaller one, and no higher than the most.
    #[test]
    fn unmarked_packets_raise_the_limit() {
        let mut own = Limits::new(&RULES);
        own.0[0].limit = 5000;
        own.0[1].limit = 9950;
        arrive(&mut own, 1, [false, false], &RULES);
        assert_eq!(limits(&own), [5200, 10_000]);
        arrive(&mut own, 1, [false, false], &RULES);
        assert_eq!(limits(&own), [5392, 10_000]);
        arrive(&mut own, 1, [true, false], &RULES);
        assert_eq!(own.limit(), 5392);
        arrive(&mut own, 1, [true, false], &Rules { every: true, ..RULES });
        assert_eq!(own.limit(), 5392 + 185);
    }

    /// Both rise by a full packet for each window of the smaller one, also the larger one: 1000² / 5000 B.
    #[test]
    fn the_smaller_limit_sets_the_rise_of_both() {
        let mut own = Limits::new(&RULES);
        (own.0[0].limit, own.0[1].limit) = (5000, 8000);
        arrive(&mut own, 1, [false, false], &RULES);
        assert_eq!(limits(&own), [5200, 8200]);
    }

    /// Marks without end: each limit goes down to its own least.
    #[test]
    fn limits_have_a_floor() {
        let mut own = Limits::new(&RULES);
        arrive(&mut own, 200, [true, true], &RULES);
        assert_eq!(limits(&own), [300, 1000]);
    }
}
