//! The state of links under faults over time, and the routes that follow from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::Serialize;

use super::packets::Picked;
use super::{FaultChange, Faults, Parts};
use crate::ids::LinkId;
use crate::random::{Purpose, Stream};
use crate::routing::Routes;
use crate::topology::{Fabric, Link};
use crate::units::{Rate, Time};

/// How a link is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    pub down: bool,
    pub rate: Rate,
    /// The share that limits and thresholds of the queue at its head have.
    pub room: f64,
    /// The probability that it loses a packet.
    pub loss: f64,
    /// When it goes down next; [`Time::NEVER`] if it does not.
    pub next_down: Time,
}

/// A link becomes so at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub at: Time,
    pub link: LinkId,
    pub state: LinkState,
}

/// All that faults do in a run.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Changes of links, by time and link.
    pub steps: Vec<Step>,
    /// The links that ever change with their state before that, by link.
    pub links: Vec<(LinkId, LinkState)>,
    /// When routes change, and to which of `tables`, by time.
    epochs: Vec<(Time, usize)>,
    /// The distinct sets of links that routes avoid, each with the routes once they have been needed.
    tables: Vec<(Vec<LinkId>, OnceLock<Routes>)>,
    /// The flows whose packets are lost by number.
    pub picked: Vec<Picked>,
    pub summary: Vec<FaultSummary>,
}

/// The effect of one line of the list of faults.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultSummary {
    pub at_ps: u64,
    /// When it is undone; null if never.
    pub undone_ps: Option<u64>,
    /// The change: "down", "up", "rate", "capacity" or "loss".
    pub change: &'static str,
    /// The directed links that it happens to.
    pub links: Vec<u32>,
    /// The nodes that it happens to, by name.
    pub nodes: Vec<String>,
}

/// One change of the list, or its undoing.
struct Action {
    at: Time,
    /// Place in the list; an undoing precedes other changes of the same time.
    place: (bool, usize),
    parts: Parts,
    change: FaultChange,
    undo: bool,
}

impl Timeline {
    /// The effect of the faults on that network. Called only if there are no [`Faults::problems`].
    ///
    /// Where routes are `weighed` by the rates of links, a rate that changes is a change of routes, too.
    pub fn build(faults: &Faults, fabric: &Fabric, seed: u64, replica: u64, weighed: bool) -> Timeline {
        let mut timeline = Timeline::default();
        let mut actions = timeline.actions(faults, fabric, seed, replica);
        actions.sort_by_key(|action| (action.at, action.place));

        // A node that is down and a cable that is down are two things: each comes up by itself.
        let mut states = States::new(fabric);
        let mut known = BTreeMap::new();
        for same_time in actions.chunk_by(|a, b| a.at == b.at) {
            let at = same_time[0].at;
            let avoided = states.down.clone();
            let touched: BTreeSet<LinkId> =
                same_time.iter().flat_map(|action| states.apply(action)).collect();
            let mut rates_change = false;
            for link in touched {
                let before = states.shown[link.index()].rate;
                if let Some(state) = states.changed(fabric, link) {
                    rates_change |= state.rate != before;
                    timeline.steps.push(Step { at, link, state });
                }
            }
            if states.down != avoided || weighed && rates_change {
                let count = timeline.tables.len();
                let table = *known.entry(states.down.clone()).or_insert(count);
                if table == count {
                    timeline.tables.push((states.down.iter().copied().collect(), OnceLock::new()));
                }
                let noticed = if at == Time::ZERO { at } else { at.saturating_add(faults.detection_delay) };
                timeline.epochs.push((noticed, table));
            }
        }
        timeline.look_ahead(fabric);
        timeline
    }

    /// The list as actions, each with its undoing.
    fn actions(&mut self, faults: &Faults, fabric: &Fabric, seed: u64, replica: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        for (index, fault) in faults.events.iter().enumerate() {
            let mut stream = Stream::new(seed, replica, Purpose::Faults, index as u64);
            let parts = fault.find(fabric, &mut stream, false).expect("checked: the target exists");
            let undone = fault.lasts.map(|lasts| fault.at.saturating_add(lasts));
            let (change, at) = (fault.change.clone(), fault.at);
            self.summary.push(FaultSummary {
                at_ps: at.0,
                undone_ps: undone.map(|at| at.0),
                change: match change {
                    FaultChange::Down => "down",
                    FaultChange::Up => "up",
                    FaultChange::Rate(_) => "rate",
                    FaultChange::Capacity(_) => "capacity",
                    FaultChange::Loss(_) => "loss",
                },
                links: parts.links.iter().map(|link| link.0).collect(),
                nodes: parts.nodes.iter().map(|node| fabric.nodes[node.index()].name.clone()).collect(),
            });
            if let Some(at) = undone {
                let place = (false, index);
                actions.push(Action { at, place, parts: parts.clone(), change: change.clone(), undo: true });
            }
            actions.push(Action { at, place: (true, index), parts, change, undo: false });
        }
        actions
    }

    /// Fills in when each link goes down next, and how links are before the first change.
    fn look_ahead(&mut self, fabric: &Fabric) {
        let mut first: BTreeMap<LinkId, Time> = BTreeMap::new();
        for step in self.steps.iter_mut().rev() {
            let next_down = first.entry(step.link).or_insert(Time::NEVER);
            step.state.next_down = *next_down;
            if step.state.down {
                *next_down = step.at;
            }
        }
        let before =
            |(link, next_down): (LinkId, Time)| (link, nominal(&fabric.links[link.index()], next_down));
        self.links = first.into_iter().map(before).collect();
    }

    /// Whether packets may find other rates or other paths than those of the network as it was built.
    pub fn moves_paths(&self, fabric: &Fabric) -> bool {
        let moves = |step: &Step| step.state.down || step.state.rate != fabric.links[step.link.index()].rate;
        self.steps.iter().any(moves)
    }

    /// When routes change for the `number`th time.
    pub fn epoch_at(&self, number: usize) -> Option<Time> {
        self.epochs.get(number).map(|epoch| epoch.0)
    }

    /// The routes since they changed for the `number`th time; computed on the first call.
    pub fn routes(&self, fabric: &Fabric, number: usize) -> &Routes {
        let (avoided, routes) = &self.tables[self.epochs[number].1];
        routes.get_or_init(|| Routes::around(fabric, avoided))
    }
}

/// The faults in force while the list is gone through.
struct States {
    /// By link, the changes of its own that hold, by place in the list: the latest counts.
    links: Vec<Vec<(usize, FaultChange)>>,
    /// By node, the faults that keep it down.
    nodes: Vec<Vec<usize>>,
    /// By node, the links that begin or end there.
    at_node: Vec<Vec<LinkId>>,
    /// By link, the state reported last.
    shown: Vec<LinkState>,
    /// The links that are down, for themselves or with a node.
    down: BTreeSet<LinkId>,
}

impl States {
    fn new(fabric: &Fabric) -> States {
        let mut at_node = vec![Vec::new(); fabric.nodes.len()];
        for (index, link) in fabric.links.iter().enumerate() {
            at_node[link.from.index()].push(LinkId(index as u32));
            at_node[link.to.index()].push(LinkId(index as u32));
        }
        States {
            links: vec![Vec::new(); fabric.links.len()],
            nodes: vec![Vec::new(); fabric.nodes.len()],
            at_node,
            shown: fabric.links.iter().map(|link| nominal(link, Time::NEVER)).collect(),
            down: BTreeSet::new(),
        }
    }

    /// Lets an action happen; the links that it may have changed.
    ///
    /// The undoing is that of the fault's own change: another one that overlaps it goes on. "up" ends all
    /// that keeps its target down.
    fn apply(&mut self, action: &Action) -> Vec<LinkId> {
        let Action { parts, change, undo, place: (_, place), .. } = action;
        let of_nodes = parts.nodes.iter().flat_map(|node| &self.at_node[node.index()]);
        let touched: Vec<LinkId> = parts.links.iter().chain(of_nodes).copied().collect();
        match change {
            FaultChange::Down | FaultChange::Up => {
                for node in &parts.nodes {
                    let faults = &mut self.nodes[node.index()];
                    match (change, undo) {
                        (FaultChange::Up, _) => faults.clear(),
                        (_, true) => faults.retain(|other| other != place),
                        (_, false) => faults.push(*place),
                    }
                }
                parts.links.iter().for_each(|link| self.change(*link, action));
            }
            FaultChange::Rate(_) | FaultChange::Capacity(_) | FaultChange::Loss(_) => {
                touched.iter().for_each(|link| self.change(*link, action));
            }
        }
        touched
    }

    fn change(&mut self, link: LinkId, action: &Action) {
        let Action { change, undo, place: (_, place), .. } = action;
        let own = &mut self.links[link.index()];
        match (change, undo) {
            (FaultChange::Up, _) => own.retain(|(_, other)| *other != FaultChange::Down),
            (_, true) => own.retain(|(other, _)| other != place),
            (_, false) => own.push((*place, change.clone())),
        }
    }

    /// The state of a link, if it differs from the one reported last.
    fn changed(&mut self, fabric: &Fabric, id: LinkId) -> Option<LinkState> {
        let link = &fabric.links[id.index()];
        let mut state = nominal(link, Time::NEVER);
        for (_, change) in &self.links[id.index()] {
            match change {
                FaultChange::Down => state.down = true,
                FaultChange::Rate(rate) => (state.rate, state.room) = (*rate, 1.0),
                FaultChange::Capacity(share) => {
                    state.rate = Rate(((link.rate.0 as f64 * share) as u64).max(1));
                    state.room = *share;
                }
                FaultChange::Loss(loss) => state.loss = *loss,
                FaultChange::Up => {}
            }
        }
        state.down |= [link.from, link.to].iter().any(|node| !self.nodes[node.index()].is_empty());
        if state.down {
            self.down.insert(id)
        } else {
            self.down.remove(&id)
        };
        let differs = state != self.shown[id.index()];
        self.shown[id.index()] = state;
        differs.then_some(state)
    }
}

/// A link without faults.
pub fn nominal(link: &Link, next_down: Time) -> LinkState {
    LinkState { down: false, rate: link.rate, room: 1.0, loss: 0.0, next_down }
}
