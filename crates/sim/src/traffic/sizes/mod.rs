//! Flow sizes (stand-in).

use crate::register::register;

register! {
    /// Flow sizes.
    pub enum Sizes: SizeModel {
        fixed::Fixed = "fixed",
    }
}

/// A distribution of sizes.
pub trait SizeModel {}
