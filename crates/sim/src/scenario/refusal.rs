//! The messages that refuse a run for its limits.

use super::Run;
use crate::problem::Problem;

/// A run whose network and flows take no more is set up, so that its refusal names all that it needs.
const SET_UP: u64 = 512 << 20;

impl Run {
    /// Why a run that takes so many bytes of memory at least is refused before it is set up, if it is.
    pub fn too_much_to_set_up(&self, need: u64) -> Option<Problem> {
        if need > SET_UP { self.too_much_memory(need) } else { None }
    }

    /// Why a run that needs so many bytes of memory is refused, if it is.
    pub fn too_much_memory(&self, need: u64) -> Option<Problem> {
        let instead = "use fewer flows, a smaller network or fewer samples";
        let what = || format!("{} of memory", bytes(need));
        (need > self.memory_limit.0)
            .then(|| self.refused("memory_limit", self.memory_limit.to_string(), what(), instead))
    }

    /// The refusal by one of the limits, `key`, for `what` the run needs.
    pub fn refused(&self, key: &str, limit: String, what: String, instead: &str) -> Problem {
        let value = serde_json::to_value(self).ok().and_then(|run| run.get(key).cloned());
        let message = format!("the run needs about {what}, and the limit is {limit}");
        let hint = format!("{instead}, or raise run.{key}");
        Problem { value, ..Problem::new(format!("run.{key}"), message).with_hint(Some(hint)) }
    }
}

fn bytes(count: u64) -> String {
    let scaled = |shift: u32| count as f64 / (1u64 << shift) as f64;
    match count {
        0..0x4000_0000 => format!("{:.0} MiB", scaled(20).max(1.0)),
        _ => format!("{:.1} GiB", scaled(30)),
    }
}
