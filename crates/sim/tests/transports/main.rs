//! The transports, each against times and rules worked out by hand, or from its paper or RFC.

#[path = "../common/mod.rs"]
mod common;

mod bbr;
mod central;
mod classes;
mod controllers;
mod cubic;
mod d2tcp;
mod d3;
mod daq;
mod dcqcn;
mod dctcp;
mod expresspass;
mod fuso;
mod gains;
mod hedera;
mod homa;
mod hpcc;
mod ictcp;
mod kept;
mod mmptcp;
mod mptcp;
mod ndp;
mod ndp_incasts;
mod ndp_options;
mod parallel_tcp;
mod pdq;
mod pfabric;
mod phost;
mod pias;
mod racks;
mod racs;
mod rate_controls;
mod rcp;
mod recovery;
mod send_buffer;
mod sird;
mod slots;
mod swift;
mod tcp;
mod two_flows;
mod two_hosts;
mod uet;
mod windows;
mod xmp;
