//! The measuring window of a run: the flows and the span of time that results are of.

use serde::Serialize;

use crate::units::Time;

/// How a window came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The whole run is measured.
    All,
    Chosen,
    /// The scenario gives at least one of its ends.
    Given,
}

/// The measuring window of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// How it came to be.
    pub rule: Rule,
    /// Flows that start earlier are not measured.
    pub from: Time,
    /// Nor those that start at this time or later; [`Time::NEVER`] if it ends with the run.
    pub until: Time,
    /// Longest time for which arrivals go on behind its end.
    pub drain: Time,
    /// The warm-up that the rule asks for, if there are arrivals that go on; a chosen window begins earlier where that would
    /// cost too much.
    pub wanted: Option<Time>,
    /// That of the background, where its arrivals alone go on.
    pub background: Option<Time>,
    /// Why the whole run is measured although the scenario leaves that open.
    pub why_all: Option<String>,
}

impl Window {
    /// The whole run.
    pub fn whole(why_all: Option<String>) -> Window {
        let (from, until) = (Time::ZERO, Time::NEVER);
        Window { rule: Rule::All, from, until, drain: Time::ZERO, wanted: None, background: None, why_all }
    }

    /// Whether a flow that starts then is measured, unless it is background; [`Time::NEVER`] for one that never started.
    pub fn has(&self, start: Time) -> bool {
        self.from <= start && (start < self.until || self.until == Time::NEVER)
    }

    /// Whether the run ends once the flows of the window have, whatever else is going on.
    pub fn ends(&self) -> bool {
        self.until != Time::NEVER
    }

    /// When arrivals end that go on behind it.
    pub fn arrivals_end(&self) -> Time {
        self.until.saturating_add(self.drain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The begin of a window is in it, and its end is not; one without an end has everything.
    #[test]
    fn a_window_has_its_begin_and_not_its_end() {
        let whole = Window::whole(None);
        let window = Window { rule: Rule::Given, from: Time(100), until: Time(200), ..whole.clone() };
        let has = |window: &Window| [99, 100, 199, 200].map(|start| window.has(Time(start)));
        assert_eq!(has(&window), [false, true, true, false]);
        assert_eq!(has(&whole), [true; 4]);
        assert!(whole.has(Time::ZERO) && whole.has(Time::NEVER));
    }
}
