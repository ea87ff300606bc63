//! The system's allocator, which keeps count of the bytes in use: for a test file with `#[global_allocator]
//! static ALLOCATOR: Watching = Watching;`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

pub struct Watching;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most bytes that were ever in use.
pub fn most() -> usize {
    MOST.load(Ordering::Relaxed)
}

/// Result of some work, the most bytes that it had in use, and those that it leaves in use. Nothing else may run
/// meanwhile.
pub fn watch<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = IN_USE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let given = work();
    (given, most() - before, IN_USE.load(Ordering::Relaxed).saturating_sub(before))
}
