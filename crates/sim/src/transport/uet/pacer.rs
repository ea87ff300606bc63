//! The credit of a receiving host: pulls for its flows in turn, at a little less than the rate of its link.
//!
//! Flows whose senders have requested more credit than they have are active, and take turns. Without any, idle flows get
//! credit that was not requested, up to a limit. Each pull is followed by a pause as long as its credit takes.

use std::collections::VecDeque;

use super::control::rccc::Rccc;
use super::oversubscription::Slowdown;
use crate::engine::contract::host::Timer;
use crate::ids::ConnId;
use crate::units::{Rate, SECOND, Time};

/// The place of a flow at its receiver's pacer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In no list.
    #[default]
    Absent,
    /// Among those that have requested credit.
    Active,
    /// Among those whose requests are granted.
    Idle,
}

/// Credit that a flow has requested and been given, in quanta since its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    pub place: Place,
    /// The highest target of its packets.
    pub target: i64,
    pub granted: i64,
}

/// The pacer of one host's port.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    active: VecDeque<ConnId>,
    idle: VecDeque<ConnId>,
    pub timer: Timer,
    /// Credit of all pulls, in quanta; for the audit.
    pub granted: i64,
    /// Made with the first pull, if the control slows down for the network's sake.
    pub slowdown: Option<Slowdown>,
}

/// Quanta for which a pull without any counts.
const LEAST_PAUSE: i64 = 4;

impl Pacer {
    /// A flow requests credit: it is active from now on.
    pub fn request(&mut self, id: ConnId, account: &mut Account) {
        if account.place == Place::Idle {
            self.idle.retain(|other| *other != id);
        }
        account.place = Place::Active;
        self.active.push_back(id);
    }

    /// A flow has all of its data.
    pub fn leave(&mut self, id: ConnId, account: &mut Account) {
        match account.place {
            Place::Active => self.active.retain(|other| *other != id),
            Place::Idle => self.idle.retain(|other| *other != id),
            Place::Absent => {}
        }
        account.place = Place::Absent;
    }

    /// The flow whose turn it is, if any.
    pub fn turn(&mut self) -> Option<ConnId> {
        self.active.pop_front().or_else(|| self.idle.pop_front())
    }

    /// Gives the flow whose turn it is credit, at most so many quanta more than requested to an idle one: the quanta that the
    /// pause before the next pull has.
    pub fn grant(&mut self, id: ConnId, account: &mut Account, config: &Rccc, surplus: i64) -> i64 {
        let full = config.quanta_per_pull();
        let was_active = account.place == Place::Active;
        let quanta = if was_active { (account.target - account.granted).clamp(0, full) } else { full };
        account.granted += quanta;
        self.granted += quanta;
        let lacks = account.target > account.granted;
        let may_idle = config.slow_pulls && account.granted - account.target < surplus;
        account.place = match (was_active, lacks) {
            (true, true) => Place::Active,
            (true, false) if config.slow_pulls => Place::Idle,
            (false, _) if may_idle => Place::Idle,
            _ => Place::Absent,
        };
        match account.place {
            Place::Active => self.active.push_back(id),
            Place::Idle => self.idle.push_back(id),
            Place::Absent => {}
        }
        if quanta == 0 { LEAST_PAUSE } else { quanta }
    }

    /// Whether no flow waits for a turn.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.idle.is_empty()
    }
}

/// The time of one quantum at a link of that rate, of which so much is used: cut to whole picoseconds twice, as in the
/// simulator.
pub fn quantum_time(config: &Rccc, rate: Rate, slowdown: f64) -> Time {
    let bits = 8 * config.pull_quantum.0;
    let whole = (bits as f64 * SECOND as f64 / rate.0 as f64 / config.pull_rate) as u64;
    Time(((whole as f64 / slowdown) as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(target: i64) -> Account {
        Account { target, ..Account::default() }
    }

    /// 256 B at 99 % of 100 Gbps take 20.686 ns; at half of that rate 41.372.
    #[test]
    fn a_quantum_has_its_time() {
        let config = Rccc::default();
        let rate = Rate(100_000_000_000);
        assert_eq!(quantum_time(&config, rate, 1.0), Time(20_686));
        assert_eq!(quantum_time(&config, rate, 0.5), Time(41_372));
        assert_eq!(config.quanta_per_pull(), 64);
    }

    /// Two flows request 100 and 64 quanta: 64, 64 and 36 in turn. Then both are idle and get 64 each, until they have the
    /// surplus of 128.
    #[test]
    fn active_flows_take_turns_and_idle_ones_get_a_surplus() {
        let config = Rccc::default();
        let (mut pacer, mut accounts) = (Pacer::default(), [account(100), account(64)]);
        for (id, account) in (0..).map(ConnId).zip(&mut accounts) {
            pacer.request(id, account);
        }
        let mut turns = Vec::new();
        while let Some(id) = pacer.turn() {
            let account = &mut accounts[id.index()];
            turns.push((id.0, pacer.grant(id, account, &config, 128)));
        }
        assert_eq!(turns, [(0, 64), (1, 64), (0, 36), (1, 64), (0, 64), (1, 64), (0, 64)]);
        assert_eq!(accounts.map(|account| account.granted - account.target), [128, 128]);
        assert_eq!(pacer.granted, 100 + 64 + 256);
    }

    /// A trimmed packet makes its flow active even if all of its requests are granted: an empty pull, and a short pause.
    #[test]
    fn a_pull_may_be_empty() {
        let config = Rccc { slow_pulls: false, ..Rccc::default() };
        let (mut pacer, mut one) = (Pacer::default(), account(0));
        pacer.request(ConnId(3), &mut one);
        assert_eq!(pacer.turn(), Some(ConnId(3)));
        assert_eq!((pacer.grant(ConnId(3), &mut one, &config, 128), one.granted), (4, 0));
        assert!(pacer.is_empty() && one.place == Place::Absent);
    }

    /// An idle flow that requests more is active, and in one list only; one that is done is in none.
    #[test]
    fn a_flow_is_in_one_list() {
        let config = Rccc::default();
        let (mut pacer, mut one) = (Pacer::default(), account(10));
        pacer.request(ConnId(0), &mut one);
        pacer.turn();
        pacer.grant(ConnId(0), &mut one, &config, 1000);
        assert_eq!((one.place, pacer.idle.len()), (Place::Idle, 1));
        one.target = 20;
        pacer.request(ConnId(0), &mut one);
        assert_eq!((one.place, pacer.idle.len(), pacer.active.len()), (Place::Active, 0, 1));
        pacer.leave(ConnId(0), &mut one);
        assert!(pacer.is_empty() && one.place == Place::Absent);
    }
}
