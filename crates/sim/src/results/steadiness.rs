//! Advice on a run that was not in a steady state at its load, as its carried load shows.

use super::Measured;
use crate::advice::{Advice, about};
use crate::setup::Setup;
use crate::traffic::window::Rule;
use crate::units::Time;

/// Share of measured flows that may end after arrivals have without advice.
const LATE_MOST: f64 = 0.01;

/// Advice on a run that has ended; `lower` is a lower load that other advice proposes: more flows would not help then.
pub fn advice(setup: &Setup, measured: &Measured, lower: Option<String>) -> Vec<Advice> {
    let mut found = Vec::new();
    if let Some(reason) = measured.unstable.first() {
        let write = lower.unwrap_or_else(|| write_instead(setup, measured));
        found.push(Advice {
            path: "run.measure".into(),
            message: format!("not in a steady state at this load: {reason}"),
            write,
        });
    }
    if measured.after_arrivals as f64 > LATE_MOST * measured.flows as f64 {
        found.push(Advice {
            path: "run.measure.drain".into(),
            message: format!(
                "{} of {} measured flows ended after the last arrival: they shared the network with less traffic than the load names",
                measured.after_arrivals, measured.flows
            ),
            write: drain_instead(measured.drain_ps),
        });
    }
    found
}

/// A longer drain than the one that was too short; where there was none, the one that is chosen without the field.
fn drain_instead(drain_ps: u64) -> String {
    match drain_ps {
        0 => "no run.measure.drain".into(),
        _ => format!("run.measure.drain = \"{}\"", about(Time(drain_ps.saturating_mul(3)))),
    }
}

/// The setting for a steady state: a load that was carried, a warm-up, or more flows.
fn write_instead(setup: &Setup, measured: &Measured) -> String {
    let first = setup.first_loaded().unwrap_or_default();
    let carried = measured.carried_load.zip(measured.offered_load);
    match (carried, setup.traffic.window.wanted) {
        (Some((carried, offered)), _) if offered >= 1.0 && carried < offered => {
            format!("traffic.{first}.arrivals.poisson.load = {:.2}", (carried * 95.0).floor() / 100.0)
        }
        (_, Some(wanted)) if measured.rule == Rule::All => {
            format!("run.measure.from = \"{}\"", about(wanted))
        }
        _ => format!("traffic.{first}.flows = {}", 4 * measured.flows.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three times a drain that was too short; there is nothing to multiply of none.
    #[test]
    fn a_longer_drain_is_proposed() {
        assert_eq!(drain_instead(2_000_000_000), "run.measure.drain = \"6ms\"");
        assert_eq!(drain_instead(0), "no run.measure.drain");
    }
}
