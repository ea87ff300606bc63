//! Entropy values: a source's choice of paths for its packets, and the feedback from which it learns.
//!
//! A value stands for a path that the source does not see: switches hash it with the flow (balancer "entropy"). Each answer
//! returns the value of the packet that it answers. Sources: the public simulator of the Ultra Ethernet transport (uet-htsim),
//! and, for REPS, Bonato et al., "REPS: Recycled Entropy Packet Spraying", arXiv 2407.21625. The simulator's random upper bits
//! of a value are left out: the hash has the flow already.
//!
//! A member has a configuration and a `Model`, the choice of one flow. Adding one is its file and its line in the list below.

use crate::problem::Problem;
use crate::random::Stream;
use crate::register::{dispatch, register};
use crate::units::Time;

/// One list: configuration and model of each selector.
macro_rules! selectors {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// Choice of the entropy value of each packet.
            pub enum PathSelector: Settings { $($module::$config = $name),* }
        }

        /// The choice of one flow.
        #[derive(Clone, Debug)]
        pub enum Model {
            $($config($module::Model),)*
        }

        impl Model {
            /// The choice of a flow that starts, among so many values, a power of two.
            pub fn new(config: &PathSelector, values: u16, stream: Stream) -> Model {
                match config {
                    $(PathSelector::$config(config) => Model::$config($module::Model::new(config, values, stream)),)*
                }
            }
        }

        dispatch! {
            impl Select for Model [$($config)*] {
                #[inline]
                fn next(&mut self, sent: u64, window: u64) -> u16;
                #[inline]
                fn feedback(&mut self, value: u16, feedback: Feedback, now: Time);
            }
        }
    };
}

selectors! {
    mixed::Mixed = "mixed",
    oblivious::Oblivious = "oblivious",
    bitmap::Bitmap = "bitmap",
    reps::Reps = "reps",
    reps_legacy::RepsLegacy = "reps-legacy",
}

impl Default for PathSelector {
    fn default() -> Self {
        mixed::Mixed::default().into()
    }
}

/// Properties of a selector's configuration.
pub trait Settings {}

/// The problem of a number of values that is no power of two, of the field `entropy_values`.
pub fn problem(values: u32) -> Option<Problem> {
    let below = 1 << values.max(1).ilog2();
    let message = format!("{values} is no power of two");
    let hint = format!("use {below} or {}", (2 * below).min(32_768));
    (!values.is_power_of_two()).then(|| Problem::new("entropy_values", message).with_hint(Some(hint)))
}

/// The choice of a flow that starts, where its transport may do without.
pub fn chosen(
    selector: Option<&PathSelector>,
    values: u32,
    stream: impl FnOnce() -> Stream,
) -> Option<Box<Model>> {
    selector.map(|selector| Box::new(Model::new(selector, values as u16, stream())))
}

/// The fate of a packet, as an answer reports it to the packet's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It has arrived without a mark, or was trimmed at the receiver's own port, where each path leads.
    Good,
    /// It has arrived with a mark.
    Marked,
    /// It was trimmed on its way.
    Trimmed,
    /// No answer has come in time.
    TimedOut,
}

/// The choice of entropy values of one flow.
pub trait Select {
    /// The value of the packet that is sent now: `sent` new packets have been before, and the window has so many.
    fn next(&mut self, sent: u64, window: u64) -> u16;

    /// The fate of a packet of that value.
    fn feedback(&mut self, value: u16, feedback: Feedback, now: Time) {
        let _ = (value, feedback, now);
    }
}

/// A uniformly random value.
fn uniform(stream: &mut Stream, values: u16) -> u16 {
    stream.below(u64::from(values)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn model(config: impl Into<PathSelector>, values: u16) -> Model {
        Model::new(&config.into(), values, Stream::new(1, 0, Purpose::Packets, 7))
    }

    fn next(model: &mut Model, count: u64) -> Vec<u16> {
        (0..count).map(|sent| model.next(1000 + sent, 10)).collect()
    }

    fn sorted(mut values: Vec<u16>) -> Vec<u16> {
        values.sort_unstable();
        values
    }

    /// Each value once in a round, in another order in the next one.
    #[test]
    fn oblivious_goes_round() {
        let mut model = model(oblivious::Oblivious {}, 64);
        let rounds = [next(&mut model, 64), next(&mut model, 64), next(&mut model, 64)];
        assert!(rounds.iter().all(|round| sorted(round.clone()) == (0..64).collect::<Vec<_>>()));
        assert!(rounds[0] != rounds[1] || rounds[1] != rounds[2]);
    }

    /// A value with two marks is passed over in two rounds, and no longer in the third; another that was trimmed in four.
    #[test]
    fn bitmap_passes_over_penalised_values() {
        let mut model = model(bitmap::Bitmap::default(), 8);
        for (value, feedback) in [(3, Feedback::Marked), (3, Feedback::Marked), (5, Feedback::Trimmed)] {
            model.feedback(value, feedback, Time::ZERO);
        }
        model.feedback(1, Feedback::Good, Time::ZERO);
        let rounds: Vec<_> = [6, 6, 7, 7, 8].iter().map(|&count| sorted(next(&mut model, count))).collect();
        assert_eq!(rounds[0], [0, 1, 2, 4, 6, 7]);
        assert_eq!(rounds[1], [0, 1, 2, 4, 6, 7]);
        assert_eq!(rounds[2], [0, 1, 2, 3, 4, 6, 7]);
        assert_eq!(rounds[3], [0, 1, 2, 3, 4, 6, 7]);
        assert_eq!(rounds[4], [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    /// If all values are penalised, a packet takes one all the same, and only the first that was passed over recovers.
    #[test]
    fn bitmap_takes_one_if_all_are_bad() {
        let mut model = model(bitmap::Bitmap { marked: 1, trimmed: 4, timed_out: 15, most: 2 }, 2);
        for value in [0, 1] {
            model.feedback(value, Feedback::TimedOut, Time::ZERO);
        }
        // Penalties of 2 each: four packets, each of which takes one off.
        next(&mut model, 4);
        let values = next(&mut model, 4);
        assert!(values.contains(&0) && values.contains(&1), "{values:?}");
    }

    /// Good values come back in their order, once each; the ring keeps the last eight.
    #[test]
    fn reps_recycles_the_last_eight() {
        let mut model = model(reps::Reps::default(), 1024);
        (500..510).for_each(|value| model.feedback(value, Feedback::Good, Time::ZERO));
        model.feedback(900, Feedback::Marked, Time::ZERO);
        assert_eq!(next(&mut model, 8), (502..510).collect::<Vec<_>>());
        let drawn = next(&mut model, 8);
        assert!(drawn != (502..510).collect::<Vec<_>>() && drawn.iter().all(|&value| value < 1024));
    }

    /// After a timeout the ring is used over and over, for 10 ms; then it is empty, and 16 packets explore.
    #[test]
    fn reps_freezes() {
        let mut model = model(reps::Reps::default(), 1024);
        (500..508).for_each(|value| model.feedback(value, Feedback::Good, Time::ZERO));
        model.feedback(0, Feedback::TimedOut, Time::from_us(5));
        let twice: Vec<u16> = (500..508).chain(500..508).collect();
        assert_eq!(next(&mut model, 16), twice);
        model.feedback(700, Feedback::Good, Time::from_us(10_006));
        assert!(next(&mut model, 16).iter().filter(|&&value| value == 700).count() < 2);
        assert_eq!(next(&mut model, 1), [700]);
    }

    /// The first window counts, later packets have the values of good answers, in their order, and random ones without.
    #[test]
    fn legacy_counts_and_then_recycles() {
        let mut model = model(reps_legacy::RepsLegacy {}, 8);
        let first: Vec<u16> = (0..9).map(|sent| model.next(sent, 100)).collect();
        assert_eq!(first[..8], [1, 2, 3, 4, 5, 6, 7, 0]);
        (0..20).for_each(|value| model.feedback(100 + value, Feedback::Good, Time::ZERO));
        assert_eq!(next(&mut model, 20), (100..120).collect::<Vec<_>>());
    }

    /// Recycled values first, else those of a bitmap, which learns from the same answers.
    #[test]
    fn mixed_recycles_before_it_goes_round() {
        let mut model = model(mixed::Mixed::default(), 4);
        model.feedback(2, Feedback::Good, Time::ZERO);
        model.feedback(3, Feedback::Trimmed, Time::ZERO);
        assert_eq!(next(&mut model, 1), [2]);
        assert_eq!(sorted(next(&mut model, 3)), [0, 1, 2]);
    }
}
