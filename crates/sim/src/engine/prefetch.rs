//! Asking the processor for memory before it is needed: the only unsafe code of the simulator.

/// Asks for the cache line that holds the start of an item. It changes nothing but time.
#[inline]
#[allow(unsafe_code, reason = "a prefetch reads nothing that the program can see")]
pub fn prefetch<T>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the address is that of a live reference, and a prefetch has no effect on memory.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
