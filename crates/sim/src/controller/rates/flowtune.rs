//! Flowtune: rates that maximise the sum of the flows' utilities, by prices of links.
//!
//! Source: Perry, Balakrishnan and Shah, "Flowtune: flowlet control for datacenter networks", NSDI 2017. A flow with the utility
//! w log x sends at w over the sum of the prices on its path. An iteration moves each price by Newton's method, as if
//! there were no other link (NED: Newton exact diagonal): by the link's excess over how fast its load changes with
//! the price. Until prices have converged, links are over-allocated; a normaliser divides rates by how much.
//!
//! Rates and capacities are shares of one rate, such as that of a host's link, for which a first price of 1
//! has the right order of magnitude. The paper leaves price 0 open: here no flow is faster than the slowest
//! link of its path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bytes;
use crate::units::Time;

/// Flowtune's allocator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Flowtune {
    /// The step of a price, as a share of Newton's (paper: 0.2 to 1.5, 0.4 in the implementation).
    #[schemars(range(min = 0.01, max = 1.9))]
    pub gamma: f64,
    /// The price of each link before the first iteration.
    #[schemars(range(min = 0.000001, max = 1000000.0))]
    pub initial_price: f64,
    /// The normalisation that makes rates fit the links while prices still move.
    pub normaliser: RateNormaliser,
    /// Time from iteration to iteration while there are flows. 0: one iteration whenever a flow arrives or
    /// ends.
    pub period: Time,
    /// A flow is notified of its rate when that differs by more than this share from the rate it was last
    /// notified of.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
    /// The share of each link that is not allocated, for flows that have not been notified of a small change.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub headroom: f64,
    /// The weight of flows of each class, from class 0: the w of their utility. A class beyond the end has 1.
    #[schemars(length(max = 8), inner(range(min = 0.000001, max = 1000000.0)))]
    pub weights: Vec<f64>,
}

/// The normalisation that makes rates fit the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateNormaliser {
    /// Each flow's rate is divided by the largest load of a link on its path, over that link's capacity (F-NORM).
    #[default]
    PerFlow,
    /// All rates are divided by the largest load of any link, over its capacity (U-NORM).
    Uniform,
    /// Rates stay as they are, and links are over-allocated at times.
    None,
}

impl Default for Flowtune {
    fn default() -> Self {
        Flowtune {
            gamma: 0.4,
            initial_price: 1.0,
            normaliser: RateNormaliser::PerFlow,
            period: Time::from_us(10),
            threshold: 0.01,
            headroom: 0.01,
            weights: Vec::new(),
        }
    }
}

impl Flowtune {
    /// The weight of a class.
    pub fn weight(&self, class: usize) -> f64 {
        self.weights.get(class).copied().unwrap_or(1.0)
    }

    /// Whether rates fit the links before prices have converged, too.
    pub fn fits(&self) -> bool {
        self.normaliser != RateNormaliser::None
    }
}

/// A flow of the allocator.
#[derive(Clone, Debug, Default)]
struct Flow {
    /// None: there is no flow of this number.
    links: Vec<u32>,
    weight: f64,
    /// The least capacity on its path.
    fastest: f64,
    /// By the prices.
    wanted: f64,
    rate: f64,
    /// The rate it was last notified of; 0: none yet.
    heard: f64,
}

/// A link.
#[derive(Clone, Copy, Debug)]
struct Link {
    capacity: f64,
    price: f64,
    load: f64,
    /// By how much the load falls when the price grows by 1.
    slope: f64,
}

/// Prices of links and rates of flows.
#[derive(Clone, Debug)]
pub struct Allocator {
    config: Flowtune,
    links: Vec<Link>,
    flows: Vec<Flow>,
    news: Vec<(u32, f64)>,
}

impl Allocator {
    /// For links of these capacities.
    pub fn new(config: Flowtune, capacities: &[f64]) -> Allocator {
        let open = 1.0 - config.headroom;
        let price = config.initial_price;
        let link = |capacity: &f64| Link { capacity: capacity * open, price, load: 0.0, slope: 0.0 };
        let links = capacities.iter().map(link).collect();
        Allocator { config, links, flows: Vec::new(), news: Vec::new() }
    }

    /// Bytes that it takes beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        let paths: usize = self.flows.iter().map(|flow| bytes(&flow.links)).sum();
        bytes(&self.links) + bytes(&self.flows) + bytes(&self.news) + paths
    }

    /// A flowlet starts. Numbers are small; that of a flow which has ended may be used again.
    pub fn start(&mut self, number: u32, links: &[u32], weight: f64) {
        let number = number as usize;
        if self.flows.len() <= number {
            self.flows.resize(number + 1, Flow::default());
        }
        let flow = &mut self.flows[number];
        assert!(flow.links.is_empty() && !links.is_empty(), "a flow that is new, with a path");
        flow.links.extend(links);
        flow.weight = weight;
        flow.fastest =
            links.iter().map(|&link| self.links[link as usize].capacity).fold(f64::INFINITY, f64::min);
        flow.heard = 0.0;
    }

    /// A flowlet has ended.
    pub fn end(&mut self, number: u32) {
        self.flows[number as usize].links.clear();
    }

    /// The flow's rate after the last iteration.
    pub fn rate(&self, number: u32) -> f64 {
        self.flows[number as usize].rate
    }

    /// The link's price.
    pub fn price(&self, link: u32) -> f64 {
        self.links[link as usize].price
    }

    /// One iteration: rates by the prices, made to fit, and the prices for the next. Returns the flows to
    /// notify of their rate, with the rate.
    pub fn iterate(&mut self) -> &[(u32, f64)] {
        for link in &mut self.links {
            (link.load, link.slope) = (0.0, 0.0);
        }
        for flow in self.flows.iter_mut().filter(|flow| !flow.links.is_empty()) {
            let price: f64 = flow.links.iter().map(|&link| self.links[link as usize].price).sum();
            flow.wanted = (flow.weight / price).min(flow.fastest);
            for &link in &flow.links {
                let link = &mut self.links[link as usize];
                link.load += flow.wanted;
                link.slope += flow.wanted * flow.wanted / flow.weight;
            }
        }
        self.normalise();
        for link in self.links.iter_mut().filter(|link| link.slope > 0.0) {
            let step = self.config.gamma * (link.load - link.capacity) / link.slope;
            link.price = (link.price + step).max(0.0);
        }
        &self.news
    }

    fn normalise(&mut self) {
        let ratio = |link: &Link| link.load / link.capacity;
        let all = self.links.iter().map(ratio).fold(0.0, f64::max);
        self.news.clear();
        for (number, flow) in self.flows.iter_mut().enumerate().filter(|(_, flow)| !flow.links.is_empty()) {
            let path =
                || flow.links.iter().map(|&link| ratio(&self.links[link as usize])).fold(0.0, f64::max);
            flow.rate = match self.config.normaliser {
                RateNormaliser::PerFlow => flow.wanted / path(),
                RateNormaliser::Uniform => flow.wanted / all,
                RateNormaliser::None => flow.wanted,
            };
            if (flow.rate - flow.heard).abs() > self.config.threshold * flow.heard {
                flow.heard = flow.rate;
                self.news.push((number as u32, flow.rate));
            }
        }
    }
}
