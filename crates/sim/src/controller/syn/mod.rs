//! The synchronous controller's algorithms: what waits, who sends in a slot, and by which path.
//!
//! Source: Sviridov, Bianco and Giaccone, "To sync or not to sync: why asynchronous traffic control is good enough for
//! your data center", Globecom 2018, section II-A (called SYN here), after Perry et al., "Fastpass: a centralized
//! 'zero-queue' datacenter network", SIGCOMM 2014. In each slot the controller looks at the [`backlog`], takes a
//! [`matching`] of sources and destinations, and gives each packet a path of its own by [`colouring`] the edges of a
//! [`clos`] network. [`audit`] checks what comes out. None of these knows the engine.

pub mod audit;
pub mod backlog;
pub mod clos;
pub mod colouring;
pub mod matching;
