//! The ways in which a congestion control's pacing rate spaces segments.

/// Spacing of segments by a pacing rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// There is no rate: the window alone limits sending.
    None,
    /// Each segment follows the one before by its time at the rate, or later.
    Strict,
    /// The same, but the first segments of a connection are not paced, and delays at the host are made up for: see
    /// `sender/pacing.rs`.
    Smooth,
}
