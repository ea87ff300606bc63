//! How the parts of a run get processor time: the contract between a run in several parts and whatever has the threads.
//!
//! Parts are put into lanes. A lane is one thread's work of a window: its parts run one after the other. The engine
//! knows no threads; `threads.rs` has them.

/// Runs lanes side by side.
pub trait Executor {
    /// How many lanes there are.
    fn lanes(&self) -> usize;

    /// Calls `lead` once, with a function. Each call of that function does `task` for every lane and returns when all are
    /// done. A lane is always done by the same thread, so that what it uses stays in that thread's cache.
    fn lead(&self, task: &(dyn Fn(usize) + Sync), lead: &mut dyn FnMut(&dyn Fn()));
}

/// One lane, on the thread that leads.
#[derive(Clone, Copy, Debug)]
pub struct InTurn;

impl Executor for InTurn {
    fn lanes(&self) -> usize {
        1
    }

    fn lead(&self, task: &(dyn Fn(usize) + Sync), lead: &mut dyn FnMut(&dyn Fn())) {
        lead(&|| task(0));
    }
}
