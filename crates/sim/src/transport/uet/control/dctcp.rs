//! A window by marks alone, as the Ultra Ethernet simulator has it for comparison (uet-htsim: -sender_cc_algo dctcp).
//!
//! A marked acknowledgement takes a third of its bytes, without the average of DCTCP's paper.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Acked, Nacked, React, Settings, Window};
use crate::transport::uet::delay::Delays;
use crate::transport::uet::scale::Scale;

/// A window by marks: one packet more in a round trip without them, a third of the marked bytes less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UetDctcp {}

impl Settings for UetDctcp {
    fn window(&self, scale: &Scale) -> Window {
        Window::Dctcp(Model { window: scale.first_window() as i64, mtu: i64::from(scale.mtu) })
    }
}

/// The window of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    window: i64,
    mtu: i64,
}

impl React for Model {
    fn on_ack(&mut self, ack: &Acked, _delays: &Delays) {
        let received = ack.received as i64;
        if ack.marked {
            self.window = (self.window - received / 3).max(self.mtu);
        } else {
            self.window += received * self.mtu / self.window;
        }
    }

    fn on_nack(&mut self, nack: &Nacked, _delays: &Delays) {
        self.window = (self.window - i64::from(nack.bytes)).max(self.mtu);
    }

    fn on_timeout(&mut self, bytes: u32) {
        self.window = (self.window - i64::from(bytes)).max(self.mtu);
    }

    #[inline]
    fn bytes(&self) -> i64 {
        self.window
    }
}
