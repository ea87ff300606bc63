//! A window that answers to nothing but timeouts, for comparison (uet-htsim: -sender_cc_algo constant).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Acked, Nacked, React, Settings, Window};
use crate::transport::uet::delay::Delays;
use crate::transport::uet::scale::Scale;

/// The first window for good, except that a timeout takes its packet's bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Constant {}

impl Settings for Constant {
    fn window(&self, scale: &Scale) -> Window {
        Window::Constant(Model { window: scale.first_window() as i64, mtu: i64::from(scale.mtu) })
    }
}

/// The window of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    window: i64,
    mtu: i64,
}

impl React for Model {
    fn on_ack(&mut self, _ack: &Acked, _delays: &Delays) {}

    fn on_nack(&mut self, _nack: &Nacked, _delays: &Delays) {}

    fn on_timeout(&mut self, bytes: u32) {
        self.window = (self.window - i64::from(bytes)).max(self.mtu);
    }

    #[inline]
    fn bytes(&self) -> i64 {
        self.window
    }
}
