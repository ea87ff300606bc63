//! The algorithms by which a controller gives rates and paths, against closed forms and slower ones.

mod flowtune;
mod hedera;
mod matching;
mod max_min;
mod parts;
mod sinkhorn;

use flowyard_sim::random::{Purpose, Stream};

/// Random numbers of a test's own.
fn stream(number: u64) -> Stream {
    Stream::new(number, 0, Purpose::Ties, 0)
}
