//! The rows of a matrix of offered rates.

/// A destination queue with an offered rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its place among the entries wherever one must be first, drawn when it came.
    pub order: u32,
    /// The number that the owner of the matrix gives it.
    pub queue: u32,
    /// The offered rate as a share of the host's link, above 0 and at most 1.
    pub offered: f64,
    /// The offered rate times its priority.
    pub scaled: f64,
    /// The rate that it was given last, as a share of the host's link; 0 until then.
    pub rate: f64,
}

/// The entries of a source.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Where they send to, in order.
    pub destinations: Vec<u16>,
    /// The entries, in the same order.
    pub entries: Vec<Entry>,
}
