//! Threads for a run in several parts: one for each lane. The only place of the simulator with threads.
//!
//! A window of a run takes from a microsecond to some milliseconds. At its begin and at its end a thread therefore spins
//! for a short while before it blocks: on a free core the others come at once, on a shared one they need the processor.

#![allow(clippy::disallowed_methods, reason = "threads are here, so that they are nowhere else")]

use std::cell::Cell;
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::engine::parted::executor::Executor;

/// Looks at a flag before a thread blocks: some 20 us.
const SPINS: u32 = 1_000;

thread_local! {
    /// The text of the last panic of a run that this thread leads, or has a part in.
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// Keeps the text of a panic, and its place in the source, for [`take_panic`]: for the hook of a program that says itself
/// why a run failed. Only the hook knows the place.
pub fn keep_panic(info: &PanicHookInfo<'_>) {
    let text = info.payload_as_str().unwrap_or("a panic without a text");
    let place = info.location().map_or(String::new(), |place| format!(" ({place})"));
    PANIC.set(Some(format!("{text}{place}")));
}

/// The text of the last panic of this thread's runs, on whichever of their threads it was, since the last call.
pub fn take_panic() -> Option<String> {
    PANIC.take()
}

/// So many threads, that of the caller among them.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub usize);

impl Executor for Threads {
    fn lanes(&self) -> usize {
        self.0
    }

    fn lead(&self, task: &(dyn Fn(usize) + Sync), lead: &mut dyn FnMut(&dyn Fn())) {
        let crew = Crew::default();
        let others = self.0 - 1;
        std::thread::scope(|scope| {
            // Also if the leader panics: the others would wait for ever.
            let _end = AtEnd(|| {
                crew.over.store(true, SeqCst);
                crew.begin.ring();
            });
            for lane in 1..=others {
                let crew = &crew;
                scope.spawn(move || crew.follow(lane, task));
            }
            lead(&|| {
                crew.busy.store(others, SeqCst);
                crew.round.0.fetch_add(1, SeqCst);
                crew.begin.ring();
                task(0);
                crew.done.wait(|| crew.busy.load(SeqCst) == 0);
                if crew.failed.load(SeqCst) {
                    PANIC.set(crew.panic.lock().unwrap_or_else(PoisonError::into_inner).take());
                    // Not a panic of its own, which would be kept in place of the first.
                    panic::resume_unwind(Box::new("a part of the run failed on another thread"));
                }
            });
        });
    }
}

/// Shared state of one run's threads.
#[derive(Debug, Default)]
struct Crew {
    round: Line<AtomicU64>,
    begin: Line<Bell>,
    /// Threads that are not done with it; the leader is not counted.
    busy: Line<AtomicUsize>,
    done: Line<Bell>,
    over: AtomicBool,
    failed: AtomicBool,
    /// The first panic of a thread that does not lead, if a hook has kept it.
    panic: Mutex<Option<String>>,
}

impl Crew {
    /// The work of a thread that does not lead.
    fn follow(&self, lane: usize, task: &(dyn Fn(usize) + Sync)) {
        let mut round = 0;
        loop {
            self.begin.wait(|| self.round.load(SeqCst) > round || self.over.load(SeqCst));
            if self.over.load(SeqCst) {
                return;
            }
            round += 1;
            let _end = AtEnd(|| {
                if std::thread::panicking() {
                    let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
                    *first = first.take().or_else(take_panic);
                    self.failed.store(true, SeqCst);
                }
                if self.busy.fetch_sub(1, SeqCst) == 1 {
                    self.done.ring();
                }
            });
            task(lane);
        }
    }
}

/// Lets threads wait for something that another one brings about.
#[derive(Debug, Default)]
struct Bell {
    asleep: AtomicUsize,
    lock: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// Returns when the condition holds: the thread that makes it so rings.
    fn wait(&self, is_so: impl Fn() -> bool) {
        for _ in 0..SPINS {
            if is_so() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the look: a thread that rings after it sees that another one sleeps.
        self.asleep.fetch_add(1, SeqCst);
        while !is_so() {
            guard = self.rung.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, SeqCst);
    }

    fn ring(&self) {
        if self.asleep.load(SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.rung.notify_all();
        }
    }
}

/// On cache lines of its own: processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

impl<T> std::ops::Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Does something when it goes, also in a panic.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In each window every lane adds what the leader gave it: no lane is a window early or late.
    #[test]
    fn each_window_is_done_once_by_every_lane() {
        for threads in [1, 2, 3, 8] {
            let given = AtomicU64::new(0);
            let sums: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
            let task = |lane: usize| {
                sums[lane].fetch_add(given.load(SeqCst), SeqCst);
            };
            Threads(threads).lead(&task, &mut |all| {
                for window in 1..=2_000 {
                    given.store(window, SeqCst);
                    all();
                    let expected = window * (window + 1) / 2;
                    assert!(sums.iter().all(|sum| sum.load(SeqCst) == expected));
                }
            });
        }
    }

    /// The leader comes back too, and does not wait for ever.
    #[test]
    #[should_panic(expected = "a part of the run failed")]
    fn a_panic_in_a_lane_ends_the_run() {
        let task = |lane: usize| assert!(lane != 1, "the second lane fails");
        Threads(3).lead(&task, &mut |all| all());
    }

    /// Two runs of two threads each, in which the one that leads, or the other, fails. Both runs have failed before the text
    /// of either is taken.
    #[test]
    fn a_panic_belongs_to_its_own_run() {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            keep_panic(info);
            before(info);
        }));
        for failing in [0, 1] {
            let both_failed = std::sync::Barrier::new(2);
            let fails = |name: &str| {
                let task = |lane: usize| assert!(lane != failing, "lane {lane} of {name} fails");
                let run = || Threads(2).lead(&task, &mut |all| all());
                assert!(panic::catch_unwind(panic::AssertUnwindSafe(run)).is_err());
                both_failed.wait();
                let said = take_panic().expect("a panic");
                assert!(said.starts_with(&format!("lane {failing} of {name} fails (")), "{said}");
                assert!(said.contains("threads.rs:"), "{said}");
                assert_eq!(take_panic(), None);
            };
            std::thread::scope(|scope| {
                scope.spawn(|| fails("one"));
                scope.spawn(|| fails("the other"));
            });
        }
    }

    #[test]
    #[should_panic(expected = "the leader fails")]
    fn a_panic_of_the_leader_ends_the_threads() {
        Threads(3).lead(&|_| (), &mut |_| panic!("the leader fails"));
    }
}
