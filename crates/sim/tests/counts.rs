//! Speed guarded by counts, which are the same on every machine: events, buckets opened, words scanned to find
//! them and heap allocations a packet-hop, on the scenarios in counts/.
//!
//! A bound holds from both sides: more than it is a regression; less than nine tenths of it is a gain, which
//! the bound is to follow, so that the next regression of a tenth is noticed. `make bench-instructions` counts
//! instructions on the same scenarios.

#![allow(clippy::disallowed_methods, reason = "the ban is for the simulator: a test reads files")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::data::progress::Progress;
use flowyard_sim::engine::run::Engine;
use flowyard_sim::scenario::{self, Format};
use flowyard_sim::setup::Setup;

/// The system's allocator, with a count for each thread: tests run side by side.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

// A zeroed or grown block goes through these two as well, by the trait's defaults.
#[allow(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Work of a run.
struct Counts {
    packet_hops: u64,
    events: u64,
    buckets_opened: u64,
    words_scanned: u64,
    /// (packet-hops, allocations) so far, again and again during the run.
    history: Vec<(u64, u64)>,
}

impl Counts {
    fn a_hop(&self, count: u64) -> f64 {
        count as f64 / self.packet_hops as f64
    }

    /// Allocations after so many packet-hops.
    fn allocations_after(&self, hops: u64) -> u64 {
        let before = self.history.iter().find(|(done, _)| *done >= hops).expect("a run longer than that");
        self.history.last().expect("a run of some length").1 - before.1
    }
}

fn count(name: &str, overrides: &[(&str, &str)]) -> Counts {
    let file = format!("{}/tests/counts/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).expect("a scenario");
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let scenario = scenario::read(&text, Format::Toml, &overrides, &scenario::no_files)
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a connected network");
    let plan = setup.plan(&scenario, Agenda::Calendar);
    let mut history = Vec::with_capacity(100_000);
    let mut note = |now: &Progress| {
        assert!(history.len() < history.capacity(), "room for a note that allocates nothing");
        history.push((now.packet_hops, allocations()));
        true
    };
    let ended = Engine::new(&plan).run(&mut note);
    assert_eq!(ended.status, Status::Complete);
    Counts {
        packet_hops: ended.totals.packet_hops,
        events: ended.totals.events,
        buckets_opened: ended.totals.buckets_opened,
        words_scanned: ended.totals.words_scanned,
        history,
    }
}

#[track_caller]
fn assert_close_below(what: &str, measured: f64, bound: f64) {
    assert!(measured <= bound, "{what}: {measured:.4} a packet-hop, more than {bound}: a regression");
    assert!(
        measured >= 0.9 * bound,
        "{what}: {measured:.4} a packet-hop: lower the bound of {bound} to that"
    );
}

#[test]
fn events_and_buckets() {
    for (name, events, buckets, words) in [
        ("ndp-permutation", 1.275, 0.085, 0.085),
        ("tcp-permutation", 1.120, 0.199, 0.199),
        ("ndp-web-search", 1.285, 0.153, 0.153),
        ("tcp-web-search", 1.165, 0.149, 0.149),
    ] {
        let counts = count(name, &[]);
        assert_close_below(&format!("{name}, events"), counts.a_hop(counts.events), events);
        assert_close_below(&format!("{name}, buckets"), counts.a_hop(counts.buckets_opened), buckets);
        assert_close_below(&format!("{name}, words"), counts.a_hop(counts.words_scanned), words);
    }
}

/// Nothing is allocated for a packet or an event: what there is grows to the largest size that it needs and
/// stays. So the second half of a run allocates next to nothing, and all the less the longer the run is.
/// The bound leaves room for that growth and for a calendar that is rebuilt once, which takes a few hundred.
#[test]
fn no_allocations_once_warm() {
    for (name, key, value) in [
        ("ndp-permutation", "traffic.permutation.sizes.fixed", "8MB"),
        ("tcp-permutation", "traffic.permutation.sizes.fixed", "16MB"),
        ("ndp-web-search", "traffic.queries.flows", "400"),
        ("tcp-web-search", "traffic.queries.flows", "400"),
    ] {
        let counts = count(name, &[(key, value)]);
        let late = counts.packet_hops / 2;
        let each = counts.allocations_after(late) as f64 / late as f64;
        assert!(each < 0.001, "{name}: {each:.5} allocations a packet-hop once warm");
    }
}
