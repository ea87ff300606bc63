//! How many bytes may be under way.

use crate::register::register;

register! {
    /// How the congestion window reacts to acknowledgements and losses.
    pub enum Congestion: Settings {
        reno::Reno = "reno",
        new_reno::NewReno = "newreno",
    }
}

/// What a congestion control's configuration tells the check: nothing so far.
pub trait Settings {}
