//! Checks of the class that a traffic entry gives its packets: a packet has one class, and a port a place for it.

use serde_json::Value;

use super::Entry;
use super::check::{Chosen, Draft};
use crate::problem::{Problem, join};
use crate::queue::{Feature, Queue};

impl<'a> Draft<'a> {
    /// Entries with a class have a transport that leaves it to them, and ports that take it.
    pub(super) fn classes(&self, transports: &[Chosen<'a>]) -> Vec<Problem> {
        let named = self.document.get("queue").filter(|value| !value.is_null());
        let queue = match named {
            Some(value) => self.part::<Queue>("queue", Some(value)).map(|(_, queue)| queue),
            None => transports.iter().find(|chosen| chosen.used).map(|used| used.transport.profile().queue),
        };
        let own_places = queue.filter(|queue| queue.offers().contains(&Feature::Credits));
        let problem = |(path, value): (String, &'a Value)| {
            let (_, entry) = self.part::<Entry>(&path, Some(value))?;
            let class = entry.class?;
            let (at, transport) = self.transport_of(&path, value)?;
            let (message, hint) = if let Some(field) = transport.profile().class_field {
                let field = join(&join(&at, transport.name()), field);
                (
                    format!("{field} gives packets their classes"),
                    format!("leave one of the two out, class or {field}"),
                )
            } else {
                let queue = own_places.as_ref()?.name();
                let message = format!("the queue \"{queue}\" places packets by the deadlines of their flows");
                (message, "leave it out, or use the queue strict-priority or lossless".to_string())
            };
            let problem = Problem::new(join(&path, "class"), message).with_value(&class.into());
            Some(problem.with_hint(Some(hint)))
        };
        self.entries().filter_map(problem).collect()
    }
}
