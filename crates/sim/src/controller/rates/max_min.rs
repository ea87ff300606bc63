//! Max-min fair rates by water-filling: no rate can grow but at the cost of one that is no larger.
//!
//! Source: Bertsekas and Gallager, "Data networks", 2nd edition (1992), 6.5.2. The link whose flows can get
//! least is filled first: it divides its remaining capacity among those of its flows that have no rate yet,
//! by weight. These then count as given on their other links, and the next link follows. Beside the
//! renormalisation of ASY it shows the cost of fairness: no queue starves, and the sum of rates is lower.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bytes;
use super::matrix::{Offered, Part, Procedure};
use super::paths::Paths;

/// Max-min fair rates of destination queues on the links of their hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MaxMin {
    /// No queue gets more than it offers.
    pub cap_by_offered: bool,
    /// The weight of queues of each class, from class 0: where they share a link, rates are as their weights. A class beyond the
    /// end has 1.
    #[schemars(length(max = 8), inner(range(min = 0.000001, max = 1000000.0)))]
    pub priorities: Vec<f64>,
}

impl MaxMin {
    /// The weight of a class.
    pub fn priority(&self, class: usize) -> f64 {
        self.priorities.get(class).copied().unwrap_or(1.0)
    }
}

/// Computes rates of flows; its working memory is kept from use to use.
#[derive(Clone, Debug, Default)]
pub struct WaterFilling {
    /// By flow.
    rates: Vec<f64>,
    /// By link: the remaining capacity, and the weight of flows without a rate.
    left: Vec<f64>,
    weight: Vec<f64>,
    /// By link: the weight of all its flows.
    whole: Vec<f64>,
    /// By link, where the list of its flows ends; and these lists, one behind the other.
    ends: Vec<u32>,
    flows: Vec<u32>,
    /// The rate that each link could give a flow of weight 1 when it was last looked at; it only grows. Bits
    /// of positive numbers have the order of these.
    shares: BinaryHeap<Reverse<(u64, u32)>>,
}

impl WaterFilling {
    /// The rates of flows with these paths and positive weights. A flow that wants no more than some rate has one more link of
    /// that capacity, which is its own; a flow without links has no rate.
    pub fn fill(&mut self, capacities: &[f64], paths: &Paths, weights: &[f64]) -> &[f64] {
        self.list(capacities, paths, weights);
        loop {
            let Some(mut first) = self.shares.peek_mut() else { return &self.rates };
            let Reverse((bits, link)) = *first;
            let at = link as usize;
            if self.weight[at] < self.whole[at] * LOST {
                let places = places(&self.ends, at);
                let without = |flow: &&u32| self.rates[**flow as usize].is_nan();
                let left = self.flows[places].iter().filter(without);
                self.weight[at] = left.map(|flow| weights[*flow as usize]).sum();
            }
            if self.weight[at] <= 0.0 {
                PeekMut::pop(first);
                continue;
            }
            let share = share(self.left[at], self.weight[at]);
            if share.to_bits() > bits {
                // It goes to its new place.
                *first = Reverse((share.to_bits(), link));
                continue;
            }
            PeekMut::pop(first);
            for place in places(&self.ends, at) {
                let flow = self.flows[place] as usize;
                if self.rates[flow].is_nan() {
                    self.give(flow, share * weights[flow], weights[flow], paths);
                }
            }
            // The remainder of the sum of weights is rounding.
            self.weight[at] = 0.0;
        }
    }

    /// Bytes that it takes beyond its own size.
    fn heap_bytes(&self) -> usize {
        let of_links = bytes(&self.left) + bytes(&self.weight) + bytes(&self.whole) + bytes(&self.ends);
        let shares = self.shares.capacity() * size_of::<Reverse<(u64, u32)>>();
        of_links + shares + bytes(&self.rates) + bytes(&self.flows)
    }

    /// Lists the flows of links. A flow without a rate has NaN.
    fn list(&mut self, capacities: &[f64], paths: &Paths, weights: &[f64]) {
        self.rates.clear();
        self.left.clear();
        self.left.extend(capacities);
        self.weight.clear();
        self.weight.resize(capacities.len(), 0.0);
        self.ends.clear();
        self.ends.resize(capacities.len(), 0);
        for (flow, weight) in weights.iter().enumerate() {
            let links = paths.links(flow);
            self.rates.push(if links.is_empty() { 0.0 } else { f64::NAN });
            for &link in links {
                self.ends[link as usize] += 1;
                self.weight[link as usize] += weight;
            }
        }
        let mut end = 0;
        for count in &mut self.ends {
            end += std::mem::replace(count, end);
        }
        self.flows.clear();
        self.flows.resize(end as usize, 0);
        for flow in 0..paths.len() {
            for &link in paths.links(flow) {
                let place = &mut self.ends[link as usize];
                self.flows[*place as usize] = flow as u32;
                *place += 1;
            }
        }
        self.whole.clone_from(&self.weight);
        self.shares.clear();
        for link in 0..capacities.len() {
            if self.weight[link] > 0.0 {
                let share = share(self.left[link], self.weight[link]);
                self.shares.push(Reverse((share.to_bits(), link as u32)));
            }
        }
    }

    fn give(&mut self, flow: usize, rate: f64, weight: f64, paths: &Paths) {
        self.rates[flow] = rate;
        for &link in paths.links(flow) {
            self.left[link as usize] -= rate;
            self.weight[link as usize] -= weight;
        }
    }
}

/// A sum of weights of which less than this share is left is summed anew: what large weights were taken out of has lost small
/// ones to rounding.
const LOST: f64 = 1e-6;

/// Where the flows of a link are listed, given the ends of all lists.
fn places(ends: &[u32], link: usize) -> Range<usize> {
    let start = if link == 0 { 0 } else { ends[link - 1] };
    start as usize..ends[link] as usize
}

/// The rate that a link can give a flow of weight 1.
fn share(left: f64, weight: f64) -> f64 {
    left.max(0.0) / weight
}

/// Gives the entries of a matrix of offered rates max-min fair rates: each has the links of its source and of its destination.
#[derive(Clone, Debug)]
pub struct FairRates {
    config: MaxMin,
    part: Part,
    filling: WaterFilling,
    paths: Paths,
    weights: Vec<f64>,
    capacities: Vec<f64>,
    /// By host: the place of its column in the part.
    column_place: Vec<u32>,
    updated: Vec<u16>,
}

impl Procedure for FairRates {
    fn update(&mut self, offered: &mut Offered) -> &[u16] {
        self.updated.clear();
        while offered.next_changed(&mut self.part) {
            self.network(offered);
            let mut rates = self.filling.fill(&self.capacities, &self.paths, &self.weights).iter();
            for &row in &self.part.rows {
                for (entry, &rate) in offered.row_mut(row).entries.iter_mut().zip(&mut rates) {
                    entry.rate = rate;
                }
            }
            self.updated.extend(&self.part.rows);
        }
        &self.updated
    }

    fn priority(&self, class: usize) -> f64 {
        self.config.priority(class)
    }

    fn heap_bytes(&self) -> usize {
        let of_part = bytes(&self.weights) + bytes(&self.capacities) + bytes(&self.updated);
        bytes(&self.column_place)
            + of_part
            + self.part.heap_bytes()
            + self.filling.heap_bytes()
            + self.paths.heap_bytes()
    }
}

impl FairRates {
    /// For so many hosts.
    pub fn new(config: MaxMin, hosts: usize) -> FairRates {
        FairRates {
            config,
            part: Part::default(),
            filling: WaterFilling::default(),
            paths: Paths::default(),
            weights: Vec::new(),
            capacities: Vec::new(),
            column_place: vec![0; hosts],
            updated: Vec::new(),
        }
    }

    /// The links of the part: those of rows, those of columns, and those that cap one entry.
    fn network(&mut self, offered: &Offered) {
        let Part { rows, columns } = &self.part;
        self.paths.clear();
        self.weights.clear();
        self.capacities.clear();
        self.capacities.resize(rows.len() + columns.len(), 1.0);
        for (place, &column) in columns.iter().enumerate() {
            self.column_place[usize::from(column)] = (rows.len() + place) as u32;
        }
        for (place, &row) in rows.iter().enumerate() {
            let row = offered.row(row);
            for (entry, &destination) in row.entries.iter().zip(&row.destinations) {
                let (source, destination) = (place as u32, self.column_place[usize::from(destination)]);
                if self.config.cap_by_offered {
                    self.paths.push(&[source, destination, self.capacities.len() as u32]);
                    self.capacities.push(entry.offered);
                } else {
                    self.paths.push(&[source, destination]);
                }
                self.weights.push(entry.scaled / entry.offered);
            }
        }
    }
}
