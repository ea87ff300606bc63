//! Fields of TCP that have several readings: one word for each.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::congestion::Window;

/// The quantity that a loss halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halves {
    /// The bytes sent and not yet acknowledged (RFC 5681's FlightSize). Bytes that wait for the host's link
    /// have not been sent.
    Flight,
    /// The bytes that the window has released, sent or not: FlightSize of a host whose TCP hands them to a
    /// queue below it (ns-3.14).
    Queued,
    /// The same less a segment, whose arrival the last duplicate acknowledgement has reported (ns-3).
    Pipe,
    /// The congestion window (Linux, htsim, ns-2).
    Window,
}

/// Meanings of a duplicate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// A segment that has left the network: the window is larger by one until the recovery ends (RFC 5681, RFC 6582).
    Inflate,
    /// A SACK of the first segment behind the missing one that has none yet: it is not in flight, also after the recovery.
    /// If it turns out to be missing, it goes again, and the guess passes on to the next one (ns-3 without SACK). Where
    /// packets overtake each other, far more than the window stays in flight.
    Sacks,
}

/// The window after an idle time longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// It is kept.
    #[default]
    None,
    /// It is no larger than the initial window (RFC 5681 and RFC 9293 by reference to it, section 4.1).
    InitialWindow,
    /// It is halved for each timeout that has passed, down to a segment, and the slow-start threshold is at
    /// least three quarters of the earlier window (RFC 2861, section 3.2).
    Halve,
    /// The same, but it does not fall below the initial window (Linux).
    HalveToInitial,
}

impl IdleRestart {
    /// The window after so many timeouts of silence; `initial` is that of a new connection.
    pub(super) fn apply(self, window: &mut Window, initial: u64, timeouts: u64) {
        match self {
            IdleRestart::None => {}
            IdleRestart::InitialWindow => window.cwnd = window.cwnd.min(initial),
            IdleRestart::Halve | IdleRestart::HalveToInitial => {
                let to_initial = self == IdleRestart::HalveToInitial;
                let least = if to_initial { initial.min(window.cwnd) } else { window.mss };
                window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3 + window.cwnd % 4 * 3 / 4);
                for _ in 0..timeouts.min(64) {
                    window.cwnd = (window.usable() / 2).max(least);
                }
            }
        }
    }
}

/// Reads the field's earlier form, before it had more than two values.
pub(super) fn word_or_truth_value<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<IdleRestart>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Said {
        Truth(bool),
        Word(IdleRestart),
    }
    let said = Option::<Said>::deserialize(source)?;
    Ok(said.map(|said| match said {
        Said::Truth(true) => IdleRestart::InitialWindow,
        Said::Truth(false) => IdleRestart::None,
        Said::Word(word) => word,
    }))
}

/// The schema of such a field: its own, or a truth value.
pub(super) fn or_truth_value(schema: &mut Schema) {
    if let Some(words) = schema.get_mut("anyOf").and_then(|any| any.as_array_mut()) {
        words.insert(1, json!({ "type": "boolean" }));
    }
}

/// The quantity that `rto_min` bounds from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Floor {
    /// The timeout (RFC 6298, 2.4): max(rto_min, SRTT + 4 RTTVAR).
    Timeout,
    /// Its part for the variation of the round trip (Linux): SRTT + max(rto_min, 4 RTTVAR).
    Variation,
}

/// The way in which the window comes down to the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// At once: nothing is sent until enough has left the network (RFC 5681, RFC 6675; RFC 3168 for marks).
    AtOnce,
    /// Over a round trip, in proportion to the delivered bytes: PRR (RFC 6937, RFC 9937; Linux, for marks, too). For losses
    /// it needs `sack`.
    Proportional,
}

/// The unit by which acknowledgements let the window grow: by a segment for each in slow start and by a
/// segment for a window of them afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// Each acknowledgement, whatever it acknowledges (RFC 5681, equations 2 and 3; ns-3): half as fast with delayed ones.
    Acks,
    /// The same, but in slow start by a whole segment even if it acknowledges less, as one of a short last segment does (RFC
    /// 2001; ns-3 up to 3.14 at least).
    WholeAcks,
    /// The bytes that it acknowledges, in slow start at most two segments of them (RFC 3465; htsim and Linux count, too).
    Bytes,
    /// The bytes that it acknowledges, in slow start all of them up to the threshold; afterwards by a whole segment for the
    /// whole segments of a window, counted since the last reduction (Linux, and ns-3's TcpLinuxReno, of which its TcpDctcp
    /// is made; RFC 5681, 3.1, recommends to count so in congestion avoidance).
    Segments,
}

/// Spacing of the segments of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paced {
    /// They go as acknowledgements let them.
    #[default]
    None,
    /// At 200 % of the window in a smoothed round trip below half of the slow-start threshold, above at 120 % (Linux with fq or
    /// `SO_MAX_PACING_RATE`).
    Internal,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::congestion::fixtures::{MSS, window};

    /// RFC 2861, 3.2, by hand: a window of 20 segments after one, two and ten timeouts, with an initial one of four. The
    /// threshold is three quarters of the window before, unless it is higher.
    #[test]
    fn windows_after_a_pause() {
        use IdleRestart::{Halve, HalveToInitial, InitialWindow, None};
        for (rule, expected) in [
            (None, [20, 20, 20]),
            (InitialWindow, [4, 4, 4]),
            (Halve, [10, 5, 1]),
            (HalveToInitial, [10, 5, 4]),
        ] {
            let found = [1, 2, 10].map(|timeouts| {
                let mut window = window(20);
                window.ssthresh = 10 * MSS;
                rule.apply(&mut window, 4 * MSS, timeouts);
                let halves = matches!(rule, Halve | HalveToInitial);
                assert_eq!(window.ssthresh, if halves { 15 * MSS } else { 10 * MSS }, "{rule:?}");
                window.cwnd / MSS
            });
            assert_eq!(found, expected, "{rule:?}");
        }
        // A window below the initial one does not grow, and a threshold above stays.
        for rule in [InitialWindow, HalveToInitial] {
            let mut window = window(3);
            window.ssthresh = 10 * MSS;
            rule.apply(&mut window, 4 * MSS, 1);
            assert_eq!((window.cwnd, window.ssthresh), (3 * MSS, 10 * MSS), "{rule:?}");
        }
    }
}
