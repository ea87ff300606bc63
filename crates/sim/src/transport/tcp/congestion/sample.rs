//! Delivery-rate samples, as a control that models the path takes them (draft-cheng-iccrg-delivery-rate-estimation-00).
//!
//! The sender takes them, see `sender/delivery_rate.rs`, for controls whose settings ask for it.

use crate::units::Time;

/// An acknowledgement, with the rate of delivery that it shows, after the sender has looked for losses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub now: Time,
    /// Bytes delivered since the connection began, with those of this acknowledgement.
    pub delivered: u64,
    /// Bytes that it reports as delivered: acknowledged or SACKed.
    pub acked: u64,
    /// Bytes that are found to be lost by it.
    pub lost: u64,
    /// Bytes in flight before it.
    pub prior_in_flight: u64,
    /// Bytes in flight after it, without lost ones.
    pub in_flight: u64,
    /// The rate of the segment sent last of those that it reports; none if there is none, or if it was retransmitted so
    /// late that the original has arrived.
    pub rate: Option<DeliveryRate>,
    /// Round trip of that segment, unless it was retransmitted.
    pub round_trip: Option<Time>,
    /// The retransmission timer's estimate; none before the first sample.
    pub smoothed: Option<Time>,
    /// Repair of losses that is in progress, after this acknowledgement.
    pub repair: Repairing,
}

/// Bytes delivered while a segment was in flight, and the time that they took.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryRate {
    /// Bytes delivered before the segment was sent, since the connection began.
    pub before: u64,
    /// Bytes delivered between then and now.
    pub bytes: u64,
    /// The longer one of the times that they took to be sent and to be acknowledged. Not zero.
    pub interval: Time,
    /// Whether the data at hand limited the sender when it sent the segment: the path may have more.
    pub app_limited: bool,
}

/// Repair of losses by a sender, as Linux' states Open, Recovery and Loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repairing {
    /// No loss is known that has not been repaired.
    #[default]
    Nothing,
    /// Losses are repaired that acknowledgements have shown.
    Recovery,
    /// A timeout has come, and not all data sent before it is acknowledged.
    Timeout,
}
