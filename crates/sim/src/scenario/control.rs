//! The check of central control: a controller and the transport, balancer and network that it is for.

use serde::Deserialize;
use serde_json::{Value, json};

use super::check::{Chosen, Draft, own};
use crate::controller::Controller;
use crate::problem::{Problem, join};
use crate::topology::Fabric;
use crate::units::Bytes;

impl<'a> Draft<'a> {
    /// A transport under control needs a controller, and a controller needs such a transport.
    pub(super) fn controller(&self, transports: &[Chosen<'a>], fabric: Option<&Fabric>) -> Vec<Problem> {
        let used = || transports.iter().filter(|chosen| chosen.used);
        let given = self.document.get("controller").filter(|value| !value.is_null());
        let Some(given) = given else {
            let alone = used().filter(|chosen| chosen.transport.needs().controller);
            let problem = |chosen: &Chosen| {
                let message = "needs a controller, which decides when, or how fast, it sends";
                let serve = |name: &&&str| {
                    let controller = Controller::deserialize(&json!({ **name: {} }));
                    controller.is_ok_and(|controller| controller.serves() == chosen.transport.name())
                };
                let serving: Vec<&str> = Controller::NAMES.iter().filter(serve).copied().collect();
                let hint = format!("add [controller.{}]", serving.join("] or [controller."));
                Problem::new(join(&chosen.path, chosen.transport.name()), message).with_hint(Some(hint))
            };
            return alone.map(problem).collect();
        };
        let Some((value, controller)) = self.part::<Controller>("controller", Some(given)) else {
            return Vec::new();
        };
        let name = controller.name();
        let mut problems = own("controller", name, value, controller.problems());
        let mut served = used().filter(|chosen| chosen.transport.name() == controller.serves()).peekable();
        if served.peek().is_none() {
            let message = format!(
                "\"{name}\" is not used: it serves the transport \"{}\", which no traffic entry has",
                controller.serves()
            );
            problems.push(Problem::new("controller", message).with_value(value));
            return problems;
        }
        if let Some(fabric) = fabric {
            let full = served.map(|chosen| chosen.transport.profile().full_packet).max().unwrap_or_default();
            problems.extend(own("controller", name, value, controller.problems_on(fabric, Bytes(full))));
        }
        let faults = self
            .document
            .get("faults")
            .filter(|faults| faults.as_object().is_some_and(|all| !all.is_empty()));
        if let (Some(why), Some(faults)) = (controller.refuses_faults(), faults) {
            problems.push(
                Problem::new("faults", format!("are not for the controller \"{name}\": {why}"))
                    .with_value(faults),
            );
        }
        problems
    }

    /// Paths that a controller chooses are taken by its flows, and by no others.
    pub(super) fn granted(&self) -> Vec<Problem> {
        let controller = self.part::<Controller>("controller", self.document.get("controller"));
        let controller = controller.map(|(_, controller)| controller);
        let chooses = controller.as_ref().filter(|controller| controller.balancer().is_some());
        let problem = |(path, entry): (String, &'a Value)| {
            let (_, transport) = self.transport_of(&path, entry)?;
            let (at, balancer) = self.balancer_of(&path, entry);
            let balancer = balancer?;
            let served = chooses.filter(|controller| controller.serves() == transport.name());
            match (served, balancer.follows_controller()) {
                (Some(controller), false) => {
                    let message = format!(
                        "\"{}\" chooses paths where the controller \"{}\" has chosen them",
                        balancer.name(),
                        controller.name()
                    );
                    let hint = "leave it out, or use \"granted\"".to_string();
                    Some(Problem::new(at, message).with_hint(Some(hint)))
                }
                (None, true) => {
                    let message = format!(
                        "\"{}\" takes paths from a controller that chooses them, which this entry has not",
                        balancer.name()
                    );
                    Some(Problem::new(at, message))
                }
                _ => None,
            }
        };
        self.entries().filter_map(problem).collect()
    }
}
