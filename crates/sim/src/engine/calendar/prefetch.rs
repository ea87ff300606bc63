//! Asking the processor for memory before it is needed: the only unsafe code of the simulator.

/// Prefetches the first cache lines of an item. It changes only the running time.
#[inline(always)]
#[allow(unsafe_code, reason = "a prefetch reads nothing that the program can see")]
pub fn prefetch<T>(item: &T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines.min(size_of::<T>().div_ceil(64)) {
        let address = std::ptr::from_ref(item).cast::<i8>().wrapping_add(64 * line);
        // SAFETY: a prefetch has no effect on memory, whatever the address.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (item, lines);
}
