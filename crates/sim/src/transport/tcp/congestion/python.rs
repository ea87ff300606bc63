//! A congestion control that is written in Python, as a prototype: the way from TCP's verbs to its object.
//!
//! A verb that its class does not have is NewReno's, here, and costs no call.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::new_reno::{self, NewReno};
use super::{Ack, Answer, Cause, CongestionEvent, Control, Pace, Recovery, Settings, Siblings, Step, Window};
use crate::prototype::{Bound, Factory, Named};
use crate::transport::tcp::ecn::Echo;
use crate::units::Rate;

/// A congestion control written in Python, a prototype: `flowyard run --prototype FILE`, or `controls` of flowyard.run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PythonControl {
    /// Name of its class, as given to flowyard.run; from a file (--prototype), the name in the file.
    pub name: String,
    /// Arguments of the class, by their names, with which each connection's object is made.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// The way in which the receiver echoes marks. Absent: the class's attribute; without one, TCP's `ecn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Echo>,
    /// Whether a reduction for marks takes a round trip, like DCTCP's field of that name. Absent: the class's
    /// attribute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proportional_reduction: bool,
    /// Whether the receiver acknowledges each segment at once, whatever TCP's `delayed_ack` is, so that round trips are those of
    /// the network. Absent: the class's attribute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acknowledges_each_segment: bool,
    #[serde(skip)]
    prototype: Bound<dyn Prototype>,
}

impl PythonControl {
    /// Finds its prototype.
    pub fn bind(&mut self, prototypes: &Named<dyn Prototype>) {
        self.prototype.bind(&self.name, prototypes);
    }
}

impl Settings for PythonControl {
    fn echo(&self) -> Option<Echo> {
        self.echo
    }

    fn acknowledges_each_segment(&self) -> bool {
        self.acknowledges_each_segment
    }

    fn reduces_in_proportion(&self) -> bool {
        self.proportional_reduction
    }

    fn pace(&self) -> Pace {
        Pace::Strict
    }
}

/// A class that was given.
pub trait Prototype: Factory {
    /// The object of a connection that starts.
    fn start(&self, settings: &Map<String, Value>) -> Box<dyn Connection>;
}

/// The verbs that a class has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verbs {
    pub on_ack: bool,
    pub on_loss: bool,
    pub on_timeout: bool,
    pub on_mark: bool,
    pub on_duplicate: bool,
    pub on_recovery_ack: bool,
    pub on_echo: bool,
}

/// One connection's object: [`Control`], as far as its class has the verbs.
pub trait Connection: fmt::Debug + Send {
    /// The verbs that it has.
    fn verbs(&self) -> Verbs;
    /// [`Control::on_ack`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);
    /// [`Control::on_congestion_event`].
    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent);
    /// [`Control::on_duplicate`].
    fn on_duplicate(&mut self, window: &mut Window, ack: &Ack);
    /// [`Control::on_recovery_ack`].
    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step;
    /// [`Control::on_echo`].
    fn on_echo(&mut self, ack: &Ack) -> Answer;
    /// [`Control::distrusts_duplicates`].
    fn distrusts_duplicates(&self) -> bool;
    /// [`Control::pacing_rate`].
    fn pacing_rate(&self) -> Option<Rate>;
}

/// A connection's object, and NewReno for the verbs that it lacks.
#[derive(Debug)]
pub struct Model {
    own: Box<dyn Connection>,
    verbs: Verbs,
    others: new_reno::Model,
}

impl Model {
    pub(super) fn new(config: &PythonControl) -> Model {
        let own = config.prototype.get().start(&config.settings);
        Model { verbs: own.verbs(), own, others: new_reno::Model::new(&NewReno::default()) }
    }
}

impl Control for Model {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, siblings: &mut impl Siblings) {
        if self.verbs.on_ack {
            self.own.on_ack(window, ack);
        } else {
            self.others.on_ack(window, ack, siblings);
        }
    }

    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        let has = match event.cause {
            Cause::FastRetransmit { .. } => self.verbs.on_loss,
            Cause::Timeout { .. } => self.verbs.on_timeout,
            Cause::EcnEcho => self.verbs.on_mark,
        };
        if has {
            self.own.on_congestion_event(window, event);
        } else {
            self.others.on_congestion_event(window, event);
        }
    }

    fn on_duplicate(&mut self, window: &mut Window, ack: &Ack) {
        if self.verbs.on_duplicate {
            self.own.on_duplicate(window, ack);
        } else {
            self.others.on_duplicate(window, ack);
        }
    }

    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step {
        if self.verbs.on_recovery_ack {
            self.own.on_recovery_ack(window, ack, recovery)
        } else {
            self.others.on_recovery_ack(window, ack, recovery)
        }
    }

    fn distrusts_duplicates(&self) -> bool {
        self.own.distrusts_duplicates()
    }

    fn on_echo(&mut self, ack: &Ack) -> Answer {
        if self.verbs.on_echo { self.own.on_echo(ack) } else { self.others.on_echo(ack) }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.own.pacing_rate()
    }
}
