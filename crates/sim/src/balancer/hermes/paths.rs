//! The view that a host has of its paths to another leaf, and their classes: sections 3.1 and 3.2 of the paper.

use super::Hermes;
use crate::engine::contract::path::RateEstimator;
use crate::ids::NodeId;
use crate::units::Time;

/// The class of a path, the best one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Few marks and short round trips.
    Good,
    /// Neither good nor bad, or nothing is known of it.
    Grey,
    /// Many marks and long round trips.
    Bad,
    /// It loses packets that are no sign of congestion.
    Failed,
}

/// Round trip and share of marked packets of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// In ps.
    pub rtt: f64,
    pub marked: f64,
}

impl View {
    /// Whether a path with this view is notably better than one with the other.
    pub fn beats(self, other: View, config: &Hermes) -> bool {
        other.rtt - self.rtt > config.rtt_better.0 as f64 && other.marked - self.marked > config.ecn_better
    }
}

/// A path from a host to a leaf.
#[derive(Clone, Copy, Debug)]
pub struct PathState {
    view: View,
    /// Time of the latest acknowledgement; none before the first.
    seen: Option<Time>,
    /// Rate at which this host sends by it.
    pub rate: RateEstimator,
    /// Packets of the present interval, those that were sent again, and its start.
    sent: u32,
    again: u32,
    since: Time,
    lossy: bool,
}

impl PathState {
    /// Nothing is known of it.
    pub fn new(config: &Hermes) -> PathState {
        PathState {
            view: unknown(config),
            seen: None,
            rate: RateEstimator::default(),
            sent: 0,
            again: 0,
            since: Time::ZERO,
            lossy: false,
        }
    }

    /// Whether an acknowledgement has come by it lately.
    fn is_known(&self, now: Time, config: &Hermes) -> bool {
        self.seen.is_some_and(|seen| now.0 - seen.0 <= config.ageing.0)
    }

    /// Round trip and marks; of a path that is not known those of a path that is just not good.
    pub fn view(&self, now: Time, config: &Hermes) -> View {
        if self.is_known(now, config) { self.view } else { unknown(config) }
    }

    /// Its class, as far as that is the same for all hosts at the other leaf.
    pub fn class(&self, now: Time, config: &Hermes) -> Class {
        if self.lossy {
            return Class::Failed;
        }
        if !self.is_known(now, config) {
            return Class::Grey;
        }
        let View { rtt, marked } = self.view;
        if rtt < config.rtt_low.0 as f64 && marked < config.ecn_threshold {
            Class::Good
        } else if rtt > config.rtt_high.0 as f64 && marked >= config.ecn_threshold {
            Class::Bad
        } else {
            Class::Grey
        }
    }

    /// A packet that went by it, as its acknowledgement reports it.
    pub fn hear(&mut self, rtt: Time, marked: bool, now: Time, config: &Hermes) {
        if !self.is_known(now, config) {
            self.view = View { rtt: rtt.0 as f64, ..unknown(config) };
        }
        let weight = config.weight;
        self.view.rtt += weight * (rtt.0 as f64 - self.view.rtt);
        self.view.marked += weight * (f64::from(u8::from(marked)) - self.view.marked);
        self.seen = Some(now);
    }

    /// A packet of a flow is sent by it. An interval ends when its time is over and it has so many packets that one of them is
    /// not more than the share that may be sent again.
    pub fn send(&mut self, now: Time, config: &Hermes) {
        let allowed = f64::from(self.sent) * config.loss_threshold;
        if now.0 - self.since.0 >= config.loss_interval.0 && allowed >= 1.0 {
            self.lossy |= f64::from(self.again) > allowed;
            (self.sent, self.again, self.since) = (0, 0, now);
        }
        self.sent += 1;
    }

    /// A packet that went by it is sent again. On a bad path that is a sign of congestion.
    pub fn send_again(&mut self, now: Time, config: &Hermes) {
        self.again += u32::from(self.class(now, config) != Class::Bad);
    }

    /// Routes have changed: its losses are forgotten.
    pub fn forgive(&mut self) {
        (self.sent, self.again, self.lossy) = (0, 0, false);
    }
}

/// As the authors' simulator begins: at the edge of a good path.
fn unknown(config: &Hermes) -> View {
    View { rtt: config.rtt_low.0 as f64, marked: config.ecn_threshold }
}

/// Timeouts of flows to a host by one path, since the last acknowledgement of a packet to it by that path.
#[derive(Clone, Copy, Debug)]
struct Silence {
    to: NodeId,
    path: u8,
    timeouts: u32,
}

/// The paths of a host.
#[derive(Clone, Debug, Default)]
pub struct HostPaths {
    /// By leaf and uplink; empty for leaves to which it has sent nothing.
    leaves: Vec<Vec<PathState>>,
    /// Few: those by which a timer has expired.
    silences: Vec<Silence>,
}

impl HostPaths {
    /// The paths to a leaf, of so many.
    #[inline]
    pub fn to(&mut self, leaf: usize, (leaves, width): (usize, usize), config: &Hermes) -> &mut [PathState] {
        if self.leaves.get(leaf).is_none_or(|paths| paths.is_empty()) {
            self.leaves.resize(leaves, Vec::new());
            self.leaves[leaf] = vec![PathState::new(config); width];
        }
        &mut self.leaves[leaf]
    }

    /// Whether a path to that host is taken to be a black hole.
    pub fn is_silent(&self, to: NodeId, path: u8, config: &Hermes) -> bool {
        let is_it = |own: &Silence| own.to == to && own.path == path && own.timeouts >= config.timeouts;
        self.silences.iter().any(is_it)
    }

    /// A timer of a flow to that host has expired, whose packets went by that path.
    pub fn expire(&mut self, to: NodeId, path: u8) {
        match self.silences.iter_mut().find(|own| own.to == to && own.path == path) {
            Some(own) => own.timeouts += 1,
            None => self.silences.push(Silence { to, path, timeouts: 1 }),
        }
    }

    /// A packet to that host by that path has been acknowledged.
    pub fn answered(&mut self, to: NodeId, path: u8) {
        if !self.silences.is_empty() {
            self.silences.retain(|own| own.to != to || own.path != path);
        }
    }

    /// Routes have changed: failures are forgotten.
    pub fn forgive(&mut self) {
        self.silences.clear();
        self.leaves.iter_mut().flatten().for_each(PathState::forgive);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_us(1000);

    /// A path with that view, with an acknowledgement at present.
    fn path(rtt_us: f64, marked: f64) -> PathState {
        let view = View { rtt: rtt_us * 1e6, marked };
        PathState { view, seen: Some(NOW), ..PathState::new(&Hermes::default()) }
    }

    /// The table of section 3.1: T_low = 60 us, T_high = 180 us, 0.3 of the packets marked; at a threshold of time a path is
    /// grey, at that of marks it is not good.
    #[test]
    fn classes_by_hand() {
        let config = Hermes::default();
        for (rtt, marked, expected) in [
            (59.0, 0.29, Class::Good),
            (60.0, 0.0, Class::Grey),
            (59.0, 0.3, Class::Grey),
            (120.0, 0.0, Class::Grey),
            (181.0, 0.29, Class::Grey),
            (180.0, 0.3, Class::Grey),
            (181.0, 0.3, Class::Bad),
            (900.0, 1.0, Class::Bad),
        ] {
            assert_eq!(path(rtt, marked).class(NOW, &config), expected, "{rtt} us, {marked}");
        }
        // Unknown, and known too long ago.
        assert_eq!(PathState::new(&config).class(NOW, &config), Class::Grey);
        let bad = path(900.0, 1.0);
        assert_eq!(bad.class(Time(NOW.0 + config.ageing.0), &config), Class::Bad);
        assert_eq!(bad.class(Time(NOW.0 + config.ageing.0 + 1), &config), Class::Grey);
    }

    /// A path is notably better if both differences are above theirs, 100 us and 0.05: equal is not enough, nor is one of them.
    #[test]
    fn notably_better_by_hand() {
        let config = Hermes::default();
        let beats = |rtt: f64, marked: f64| {
            let bad = View { rtt: 200e6, marked: 0.5 };
            View { rtt: rtt * 1e6, marked }.beats(bad, &config)
        };
        assert!(beats(99.0, 0.44));
        assert!(!beats(100.0, 0.44) && !beats(99.0, 0.45) && !beats(10.0, 0.5) && !beats(190.0, 0.0));
    }

    /// Means with a weight of an eighth: the first round trip counts as it is, the share of marks begins at the threshold.
    #[test]
    fn means_by_hand() {
        let config = Hermes::default();
        let mut path = PathState::new(&config);
        path.hear(Time::from_us(40), false, NOW, &config);
        assert_eq!(path.view, View { rtt: 40e6, marked: 0.3 * 0.875 });
        assert_eq!(path.class(NOW, &config), Class::Good);
        path.hear(Time::from_us(80), true, NOW, &config);
        assert_eq!(path.view, View { rtt: 45e6, marked: 0.3 * 0.875 * 0.875 + 0.125 });
        // After a silence it begins anew.
        let later = Time(NOW.0 + config.ageing.0 + 1);
        path.hear(Time::from_us(200), false, later, &config);
        assert_eq!(path.view, View { rtt: 200e6, marked: 0.3 * 0.875 });
    }

    /// Of 200 packets in 10 ms two may be sent again, three are a failure; on a bad path they are congestion.
    #[test]
    fn losses_without_congestion_are_a_failure() {
        let config = Hermes::default();
        for (again, rtt, expected) in [(2, 40.0, false), (3, 40.0, true), (3, 900.0, false)] {
            let mut path = path(rtt, if rtt > 180.0 { 1.0 } else { 0.0 });
            (0..200).for_each(|_| path.send(NOW, &config));
            (0..again).for_each(|_| path.send_again(NOW, &config));
            path.send(Time::from_us(9_999), &config);
            assert!(!path.lossy, "the interval is not over");
            // 201 packets: 2.01 may be sent again.
            path.send(Time::from_us(11_000), &config);
            assert_eq!(path.lossy, expected, "{again} at {rtt} us");
            path.forgive();
            assert!(!path.lossy);
        }
        // One of a few packets is above 1 %: the interval waits for a hundred.
        let mut path = path(40.0, 0.0);
        (0..50).for_each(|_| path.send(NOW, &config));
        path.send_again(NOW, &config);
        (0..60).for_each(|_| path.send(Time::from_us(20_000), &config));
        assert!(!path.lossy);
    }

    /// Three timeouts to a host by a path, without an acknowledgement between them, are a black hole, for that host alone.
    #[test]
    fn three_timeouts_are_a_black_hole() {
        let config = Hermes::default();
        let (one, other) = (NodeId(3), NodeId(4));
        let mut paths = HostPaths::default();
        paths.expire(one, 1);
        paths.expire(one, 1);
        paths.expire(other, 1);
        paths.expire(one, 0);
        assert!(!paths.is_silent(one, 1, &config));
        paths.answered(other, 1);
        paths.expire(one, 1);
        assert!(paths.is_silent(one, 1, &config));
        assert!(!paths.is_silent(other, 1, &config) && !paths.is_silent(one, 0, &config));
        paths.answered(one, 1);
        assert!(!paths.is_silent(one, 1, &config));
    }
}
