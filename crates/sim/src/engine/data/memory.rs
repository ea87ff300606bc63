//! Memory that the ports of a switch share: how much of it is in use, and how much more a queue, or the bytes of an
//! arriving link, may take.
//!
//! A port asks for room before its queue sees a packet, whatever the queue is ([`Memory::admits`]); a queue that pauses
//! upstream ports counts bytes by the link that they came by, too ([`Memory::take_in`]). Both limits grow with the free
//! part of the memory (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
//! switches", IEEE/ACM Transactions on Networking 1998). A run without shared memory has empty lists here, and its ports
//! test one flag.

use super::gate::CLASSES;
use crate::ids::NodeId;
use crate::units::{Rate, SECOND, Time};

/// The memory of all switches; empty lists if none is shared.
#[derive(Debug, Default)]
pub struct Memory {
    /// By node.
    pub switches: Vec<Shared>,
    /// By link: the queue of the port at its head.
    pub queues: Vec<QueueShare>,
    /// By link: bytes that it has brought; empty unless the queue pauses upstream ports.
    pub arrivals: Vec<LinkShare>,
    /// Rules of queues.
    pub rules: QueueRules,
    /// Rules of links.
    pub gates: LinkRules,
    /// Class of the packet that was offered last.
    pub offered: usize,
}

/// The memory of one switch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shared {
    /// Bytes that all may use, beyond those that belong to one queue or link.
    pub size: u64,
    /// Bytes of it in use.
    pub used: u64,
    /// Most of them at one instant.
    pub most: u64,
    /// Congestion of each class at the ports: the sum of their bytes, each at most `congested_at`.
    pub congested: [u64; CLASSES],
}

/// Limits of queues: the same at each port.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueRules {
    /// A queue may use this times the free bytes; infinite: all of them.
    pub alpha: f64,
    /// Bytes that belong to each queue, and are not shared.
    pub reserve: u64,
    /// Whether a port has a queue for each class.
    pub by_class: bool,
    /// Active buffer management, if there is one.
    pub abm: Option<Abm>,
}

/// Numbers of active buffer management: its queues are congested from so many bytes on, and their drain rates are those of
/// such intervals.
#[derive(Clone, Copy, Debug)]
pub struct Abm {
    pub congested_at: u64,
    pub update: Time,
    /// Fewer bytes in an interval say nothing about the rate.
    pub least_sent: u64,
}

/// Limits of the bytes that a link has brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkRules {
    /// Bytes that belong to each link and class.
    pub reserve: u32,
    /// The upstream port resumes when so many bytes are free below its threshold.
    pub xon_offset: u64,
    /// Classes that are neither counted nor paused, a bit each.
    pub exempt: u8,
}

/// The share of the queue, or the queues, of one port.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueShare {
    /// The switch.
    pub node: u32,
    /// Queued bytes by class; all in the first one unless a port has a queue for each.
    pub queued: [u32; CLASSES],
    /// Bytes that each has sent lately, for active buffer management.
    sent: [Sent; CLASSES],
}

/// Bytes that a queue has sent in the interval that runs, and in the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    interval: u64,
    now: u64,
    before: u64,
}

/// The share of the bytes that one link has brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkShare {
    /// The switch at its end.
    pub node: u32,
    /// Bytes of each class may come after the upstream port has been paused.
    pub headroom: u32,
    /// A class may use this times the free bytes.
    pub alpha: f64,
    /// Bytes in the shared memory and the reserve, by class.
    pub held: [u32; CLASSES],
    /// Bytes in the headroom, by class.
    pub over: [u32; CLASSES],
}

impl Shared {
    fn free(&self) -> u64 {
        self.size.saturating_sub(self.used)
    }

    fn take(&mut self, bytes: u64) {
        self.used += bytes;
        self.most = self.most.max(self.used);
    }
}

impl Memory {
    /// Bytes that it takes for each link.
    pub const LINK_BYTES: usize = size_of::<QueueShare>() + size_of::<LinkShare>();

    /// Whether the queues of ports have limits here.
    fn limits_queues(&self) -> bool {
        !self.queues.is_empty()
    }

    fn class(&self, class: usize) -> usize {
        if self.rules.by_class { class } else { 0 }
    }

    /// Whether a queue may grow by the packet that is offered. `rate` is that of the port's link.
    pub fn admits(&mut self, link: usize, size: u32, rate: Rate, now: Time) -> bool {
        if !self.limits_queues() {
            return true;
        }
        let class = self.class(self.offered);
        let QueueRules { alpha, reserve, abm, .. } = self.rules;
        let queue = &mut self.queues[link];
        let switch = &self.switches[queue.node as usize];
        let before = u64::from(queue.queued[class]).saturating_sub(reserve);
        let after = (u64::from(queue.queued[class]) + u64::from(size)).saturating_sub(reserve);
        if after == 0 {
            return true;
        }
        let alpha = match abm {
            None => alpha,
            Some(abm) => alpha / switch.congestion(class, abm) * queue.drain(class, abm, rate, now),
        };
        after - before <= switch.free() && after as f64 <= alpha * switch.free() as f64
    }

    /// A queue has taken the packet that was offered.
    pub fn grow(&mut self, link: usize, size: u32) {
        if self.limits_queues() {
            let class = self.class(self.offered);
            let queued = self.queues[link].queued[class];
            self.resize(link, class, queued + size);
        }
    }

    /// A packet has left a queue, by its wire or because the queue dropped it.
    pub fn shrink(&mut self, link: usize, class: usize, size: u32) {
        if self.limits_queues() {
            let class = self.class(class);
            let queued = self.queues[link].queued[class];
            self.resize(link, class, queued - size);
        }
    }

    /// A packet goes on the wire: its bytes count for the drain rate of its queue.
    pub fn sent(&mut self, link: usize, class: usize, size: u32, now: Time) {
        let class = self.class(class);
        if let Some(abm) = self.rules.abm {
            let sent = &mut self.queues[link].sent[class];
            sent.advance(abm, now);
            sent.now += u64::from(size);
        }
    }

    fn resize(&mut self, link: usize, class: usize, to: u32) {
        let QueueRules { reserve, abm, .. } = self.rules;
        let queue = &mut self.queues[link];
        let (from, to) = (u64::from(std::mem::replace(&mut queue.queued[class], to)), u64::from(to));
        let switch = &mut self.switches[queue.node as usize];
        switch.used -= from.saturating_sub(reserve);
        switch.take(to.saturating_sub(reserve));
        if let Some(Abm { congested_at, .. }) = abm {
            switch.congested[class] -= from.min(congested_at);
            switch.congested[class] += to.min(congested_at);
        }
    }

    /// Bytes that a link and class may have in the shared memory.
    fn threshold(&self, link: usize) -> u64 {
        let arrivals = &self.arrivals[link];
        (self.switches[arrivals.node as usize].free() as f64 * arrivals.alpha) as u64
    }

    /// Whether that class of that link is neither counted nor paused.
    fn is_exempt(&self, class: usize) -> bool {
        self.gates.exempt & 1 << class != 0
    }

    /// A packet has arrived by that link: into the shared memory up to the threshold, then into the headroom. False if
    /// neither has room.
    #[inline(never)]
    pub fn take_in(&mut self, link: usize, class: usize, size: u32) -> bool {
        if self.is_exempt(class) {
            return true;
        }
        let (threshold, reserve) = (self.threshold(link), self.gates.reserve);
        let LinkShare { node, headroom, held, over, .. } = &mut self.arrivals[link];
        let shared = |bytes: u32| u64::from(bytes.saturating_sub(reserve));
        if over[class] + size > *headroom && shared(held[class]) + u64::from(size) > threshold {
            return false;
        }
        let grown = held[class] + size;
        if shared(grown) > threshold {
            over[class] += size;
            return true;
        }
        let more = shared(grown) - shared(held[class]);
        held[class] = grown;
        self.switches[*node as usize].take(more);
        true
    }

    /// A packet that came by that link has left: headroom is freed first.
    #[inline(never)]
    pub fn let_out(&mut self, link: usize, class: usize, size: u32) {
        if self.is_exempt(class) {
            return;
        }
        let reserve = self.gates.reserve;
        let LinkShare { node, held, over, .. } = &mut self.arrivals[link];
        let from_headroom = over[class].min(size);
        over[class] -= from_headroom;
        let shared = held[class].saturating_sub(reserve);
        held[class] -= size - from_headroom;
        let freed = shared - held[class].saturating_sub(reserve);
        self.switches[*node as usize].used -= u64::from(freed);
    }

    /// Whether the upstream port of a link is to be paused for a class: checked at each arrival.
    #[inline(never)]
    pub fn is_above(&self, link: usize, class: usize) -> bool {
        let LinkShare { held, over, .. } = &self.arrivals[link];
        let shared = u64::from(held[class].saturating_sub(self.gates.reserve));
        !self.is_exempt(class) && (over[class] > 0 || shared >= self.threshold(link))
    }

    /// Whether the upstream port of a link may resume a class: checked at each departure.
    #[inline(never)]
    pub fn is_below(&self, link: usize, class: usize) -> bool {
        let LinkShare { held, over, .. } = &self.arrivals[link];
        let shared = u64::from(held[class].saturating_sub(self.gates.reserve));
        over[class] == 0 && (shared == 0 || shared + self.gates.xon_offset <= self.threshold(link))
    }

    /// Shared bytes in use at each node, found from the counts of queues and links: for the audit.
    pub fn count_used(&self) -> Vec<u64> {
        let mut used = vec![0; self.switches.len()];
        for queue in &self.queues {
            let shared =
                queue.queued.iter().map(|&bytes| u64::from(bytes).saturating_sub(self.rules.reserve));
            used[queue.node as usize] += shared.sum::<u64>();
        }
        for arrivals in &self.arrivals {
            let shared =
                arrivals.held.iter().map(|bytes| u64::from(bytes.saturating_sub(self.gates.reserve)));
            used[arrivals.node as usize] += shared.sum::<u64>();
        }
        used
    }
}

impl Shared {
    /// The number of congested queues of a class, at least 1; a queue counts in proportion below `congested_at`.
    fn congestion(&self, class: usize, abm: Abm) -> f64 {
        (self.congested[class] as f64 / abm.congested_at as f64).max(1.0)
    }
}

impl QueueShare {
    /// The empty queues of a port of that switch.
    pub fn of(node: NodeId) -> QueueShare {
        QueueShare { node: node.0, ..QueueShare::default() }
    }

    /// The queue's rate in the last interval, as a share of its link's; 1 for a queue that is short or has sent little.
    fn drain(&mut self, class: usize, abm: Abm, rate: Rate, now: Time) -> f64 {
        let sent = &mut self.sent[class];
        sent.advance(abm, now);
        if u64::from(self.queued[class]) <= abm.congested_at || sent.before <= abm.least_sent {
            return 1.0;
        }
        let most = rate.0 as f64 / 8.0 * (abm.update.0 as f64 / SECOND as f64);
        (sent.before as f64 / most).min(1.0)
    }
}

impl Sent {
    /// Begins the interval of that time.
    fn advance(&mut self, abm: Abm, now: Time) {
        let interval = now.0 / abm.update.0;
        if interval != self.interval {
            self.before = if interval == self.interval + 1 { self.now } else { 0 };
            (self.interval, self.now) = (interval, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One switch of so many bytes, whose queue and link 0 are those of a test.
    fn memory(size: u64) -> Memory {
        Memory { switches: vec![Shared { size, ..Shared::default() }], ..Memory::default() }
    }

    /// Reserve 4096 B, threshold an eighth of the free bytes, 3000 B of headroom, and 100 KB: a packet of 1000 B is the 17th
    /// for which shared + ... passes. By hand, x = bytes of the link beyond the reserve: x >= (100,000 - x) / 8 at
    /// x = 11,111.1. Fifteen packets are 15,000 - 4,096 = 10,904 B, below 11,137; sixteen would be 11,904 B, above the
    /// threshold of 11,137 that the first fifteen leave: the sixteenth goes into the headroom and pauses.
    #[test]
    fn a_link_pauses_where_its_share_meets_the_threshold() {
        let mut memory = memory(100_000);
        memory.gates = LinkRules { reserve: 4096, xon_offset: 3072, exempt: 1 };
        memory.arrivals = vec![LinkShare { headroom: 3000, alpha: 0.125, ..LinkShare::default() }];
        for _ in 0..15 {
            assert!(memory.take_in(0, 3, 1000) && !memory.is_above(0, 3));
        }
        assert_eq!((memory.switches[0].used, memory.threshold(0)), (10_904, 11_137));
        assert!(memory.take_in(0, 3, 1000) && memory.is_above(0, 3));
        assert_eq!((memory.arrivals[0].over[3], memory.switches[0].used), (1000, 10_904));
        assert!(memory.take_in(0, 3, 1000) && memory.take_in(0, 3, 1000));
        assert!(!memory.take_in(0, 3, 1000), "3000 B are in the headroom");
        assert!(memory.take_in(0, 0, 1_000_000), "class 0 is exempt");
        // The first three departures free the headroom; then 10,904 + 3072 B are above the threshold until three more are
        // out: 7904 + 3072 = 10,976 <= (100,000 - 7904) / 8 = 11,512.
        let mut departures = 0;
        while !memory.is_below(0, 3) {
            memory.let_out(0, 3, 1000);
            departures += 1;
        }
        assert_eq!((departures, memory.switches[0].used), (6, 7904));
        assert_eq!(memory.count_used(), [7904]);
    }

    /// Choudhury and Hahne: N queues that are full have alpha B / (1 + N alpha) each, to a packet.
    #[test]
    fn queues_share_by_dynamic_thresholds() {
        for (queues, share) in [(1, 1_310_720), (4, 655_360), (8, 393_216)] {
            let mut memory = memory(3_932_160);
            memory.rules = QueueRules { alpha: 0.5, ..QueueRules::default() };
            memory.queues = vec![QueueShare::default(); queues];
            fill(&mut memory, &[(0, 0)]);
            for queue in &memory.queues {
                assert!(queue.queued[0].abs_diff(share) < 1000, "{queue:?}");
            }
        }
    }

    /// The same under active buffer management: queues of one class have alpha B / (1 + alpha) together, whatever their
    /// number; two classes that are alike alpha B / (1 + 2 alpha) each.
    #[test]
    fn queues_of_a_class_share_under_abm() {
        let abm = Abm { congested_at: 20_480, update: Time::from_us(25), least_sent: 2048 };
        for (classes, share) in [(&[(0, 1)][..], 1_310_720), (&[(0, 1), (1, 2)], 983_040)] {
            for queues in [1, 4, 8] {
                let mut memory = memory(3_932_160);
                memory.rules =
                    QueueRules { alpha: 0.5, by_class: true, abm: Some(abm), ..QueueRules::default() };
                memory.queues = vec![QueueShare::default(); queues * classes.len()];
                fill(&mut memory, classes);
                for &(_, class) in classes {
                    let total: u32 = memory.queues.iter().map(|queue| queue.queued[class]).sum();
                    let most = 2 * 1000 * queues as u32;
                    assert!(total.abs_diff(share) <= most, "{queues} queues of {total} B, not {share}");
                }
            }
        }
    }

    /// Offers packets to all queues in turn until none is taken. Of each pair, the ports at whose place modulo the number
    /// of pairs the first one is get packets of the class that the second one is.
    fn fill(memory: &mut Memory, classes: &[(usize, usize)]) {
        loop {
            let mut taken = 0;
            for link in 0..memory.queues.len() {
                (_, memory.offered) = classes[link % classes.len()];
                if memory.admits(link, 1000, Rate(10_000_000_000), Time::ZERO) {
                    memory.grow(link, 1000);
                    taken += 1;
                }
            }
            if taken == 0 {
                return;
            }
        }
    }

    /// Two queues that share a port of 10 Gbps get half of its rate: in 25 us 15,625 of 31,250 B. Their limits are then half
    /// of those of a queue alone; one interval later, in which nothing was sent, they are as they were.
    #[test]
    fn a_queue_that_drains_slowly_gets_less() {
        let abm = Abm { congested_at: 20_480, update: Time::from_us(25), least_sent: 2048 };
        let mut queue = QueueShare { queued: [30_000; CLASSES], ..QueueShare::default() };
        let rate = Rate(10_000_000_000);
        queue.sent[1].advance(abm, Time::from_us(30));
        queue.sent[1].now += 15_625;
        assert_eq!(queue.drain(1, abm, rate, Time::from_us(49)), 1.0);
        assert_eq!(queue.drain(1, abm, rate, Time::from_us(50)), 0.5);
        assert_eq!(queue.drain(1, abm, rate, Time::from_us(100)), 1.0);
    }

    /// The interval before the present one counts and no earlier one: half of the rate from 25 to 50 us says nothing of the
    /// drain rate at 75 us, when nothing was sent in the interval before.
    #[test]
    fn the_drain_rate_is_of_the_last_interval() {
        let abm = Abm { congested_at: 20_480, update: Time::from_us(25), least_sent: 2048 };
        let mut queue = QueueShare { queued: [30_000; CLASSES], ..QueueShare::default() };
        queue.sent[1].advance(abm, Time::from_us(30));
        queue.sent[1].now += 15_625;
        assert_eq!(queue.drain(1, abm, Rate(10_000_000_000), Time::from_us(75)), 1.0);
    }

    /// Two links and 100 KB: eight packets of 1000 B of link 1 leave link 0 room for ten, as 11,000 B are above (92,000 -
    /// 10,000) / 8; the next one is in the headroom. When link 1 is empty the threshold is 90,000 / 8 = 11,250 B, and
    /// link 0 resumes all the same only when its headroom is empty.
    #[test]
    fn a_link_resumes_when_its_headroom_is_empty() {
        let mut memory = memory(100_000);
        let link = LinkShare { headroom: 3000, alpha: 0.125, ..LinkShare::default() };
        memory.arrivals = vec![link; 2];
        (0..8).for_each(|_| assert!(memory.take_in(1, 0, 1000)));
        (0..11).for_each(|_| assert!(memory.take_in(0, 0, 1000)));
        assert_eq!((memory.arrivals[0].held[0], memory.arrivals[0].over[0]), (10_000, 1000));
        (0..8).for_each(|_| memory.let_out(1, 0, 1000));
        assert_eq!((memory.threshold(0), memory.is_below(0, 0)), (11_250, false));
        memory.let_out(0, 0, 1000);
        assert!(memory.is_below(0, 0));
    }
}
