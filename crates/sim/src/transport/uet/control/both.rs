//! Both controls of Ultra Ethernet at once: a packet needs room in the sender's window and credit of the receiver.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nscc::{self, Nscc};
use super::rccc::Rccc;
use super::{Network, Settings, Terms, Window};
use crate::derived::Values;
use crate::problem::Problem;
use crate::transport::uet::scale::Scale;

/// NSCC and RCCC together (uet-htsim: -sender_cc -receiver_cc).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Both {
    /// The sender's window.
    pub nscc: Nscc,
    /// The receiver's credit.
    pub rccc: Rccc,
}

impl Settings for Both {
    fn window(&self, scale: &Scale) -> Window {
        Window::Nscc(nscc::Model::new(&self.nscc, scale, true))
    }

    fn credit(&self) -> Option<Terms<'_>> {
        self.rccc.credit()
    }

    fn nscc(&self) -> Option<&Nscc> {
        Some(&self.nscc)
    }

    fn problems(&self) -> Vec<Problem> {
        self.nscc.problems()
    }

    fn derived(&self, network: &Network) -> Values {
        let within = |name: &str, own: Values| -> Values {
            own.into_iter().map(|(field, value)| (format!("{name}.{field}"), value)).collect()
        };
        let credit = self.rccc.values(network, false);
        [within("nscc", self.nscc.derived(network)), within("rccc", credit)].concat()
    }
}
