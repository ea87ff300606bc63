//! Recovery from losses: the packets that are retransmitted when one is missing.
//!
//! A member has a configuration; adding one is its file and its line in the list below. The receiver and the sender read
//! its rules from [`Settings`]; `irn` has a state of its own at the sender, too.

use crate::derived::{Longest, Values};
use crate::problem::Problem;
use crate::register::register;
use crate::units::{Bytes, Time};

register! {
    /// The packets that are retransmitted when one is missing.
    pub enum Recovery: Settings {
        go_back_n::GoBackN = "go-back-n",
        go_back_zero::GoBackZero = "go-back-0",
        irn::Irn = "irn",
    }
}

impl Default for Recovery {
    fn default() -> Self {
        go_back_n::GoBackN::default().into()
    }
}

/// Rules of a configuration.
pub trait Settings {
    /// Without new data for so long, a missing packet is reported again; none: once.
    fn nak_interval(&self) -> Option<Time> {
        None
    }

    /// Sender and receiver go back to a multiple of so many packets of that payload.
    fn chunk(&self, payload: Bytes) -> u32 {
        let _ = payload;
        1
    }

    /// The configuration of selective retransmission, if packets are accepted out of order.
    fn selective(&self) -> Option<&irn::Irn> {
        None
    }

    /// Problems with packets of that payload; paths are below the recovery.
    fn problems(&self, payload: Bytes) -> Vec<Problem> {
        let _ = payload;
        Vec::new()
    }

    /// Values of its fields that follow from the network; paths are below the recovery.
    fn derived(&self, longest: &Longest) -> Values {
        let _ = longest;
        Vec::new()
    }
}
