//! How many flows an entry has, as far as that is known before they are drawn.

use super::product::Product;
use crate::problem::Problem;
use crate::traffic::FLOWS_MAX;
use crate::traffic::ports::HostPorts;

/// How many flows an entry has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// In a round of its matrix, if it has rounds.
    pub round: u64,
    /// To be drawn at most.
    pub most: u64,
    /// To be drawn, or to be expected if a time ends them; 0 if the entry lacks a number that it needs.
    pub flows: u64,
    /// Whether that many will be drawn.
    pub exact: bool,
}

impl Extent {
    /// Exactly so many flows.
    pub fn exactly(flows: u64) -> Extent {
        Extent { round: flows, most: flows, flows, exact: true }
    }
}

/// The entry and its network, on which the number of its flows depends.
pub struct Scope<'a> {
    pub name: &'a str,
    pub background: bool,
    /// The hosts that take part.
    pub ranks: &'a [u32],
    /// Number of hosts in the network.
    pub hosts: u32,
    pub ports: &'a HostPorts,
    /// Whether nothing is wrong with the workload by itself.
    pub valid: bool,
    /// The extents of the entries that it refers to, by name; none of one that does not exist.
    pub known: &'a dyn Fn(&str) -> Option<Extent>,
}

/// The extent of a product of arrivals, matrix and sizes, where so many flows are `expected` before an end, if there is
/// one; and its problem.
pub(super) fn of_product(
    product: &Product,
    scope: &Scope,
    expected: Option<f64>,
) -> (Extent, Option<Problem>) {
    let paired = product.matrix.base().and_then(scope.known);
    let behind = product.arrivals.behind().filter(|behind| behind.flow_by_flow);
    let one_each = behind.and_then(|behind| (scope.known)(behind.entry));
    let own_round = || product.round(scope.ranks.len(), scope.hosts);
    let round = paired.map_or_else(own_round, |base| base.flows);
    let natural = one_each.map(|base| base.flows).or_else(|| product.arrivals.flows(round));
    let bases: Vec<Extent> = one_each.into_iter().chain(paired).collect();
    let wrong = number_problem(product, scope.background, round, natural, expected);
    if wrong.is_some() {
        return (Extent { round, ..Extent::default() }, wrong);
    }
    let number = product.flows.or(natural);
    let least = bases.iter().filter(|base| base.exact).map(|base| base.flows).min();
    let short = least.zip(number).filter(|(least, number)| least < number).map(|(least, number)| {
        let what = format!("{number} is more than the {least} flows that these refer to one by one");
        Problem::new("flows", what)
    });
    let most = least.into_iter().chain(number).min().unwrap_or(u64::MAX);
    let flows = number.unwrap_or_else(|| expected.map_or(0, |flows| flows.ceil() as u64));
    let exact = expected.is_none() && bases.iter().all(|base| base.exact);
    (Extent { round, most, flows, exact }, short)
}

/// The fields that an entry without a number of flows may have in its place.
fn instead(product: &Product, background: bool) -> String {
    let name = product.arrivals.name();
    match (background, product.arrivals.end()) {
        (true, Some(end)) => format!(
            "; give flows, arrivals.{name}.{end} or arrivals.{name}.until, or run.until, up to which background traffic goes on"
        ),
        (true, None) if product.arrivals.goes_on() => format!(
            "; give flows or arrivals.{name}.until, or run.until, up to which background traffic goes on"
        ),
        (_, Some(end)) => format!(", and so is arrivals.{name}.{end}; give one of them"),
        (_, None) => format!("; arrivals.{name} has no end of its own: say flows = 1000"),
    }
}

fn number_problem(
    product: &Product,
    background: bool,
    round: u64,
    natural: Option<u64>,
    expected: Option<f64>,
) -> Option<Problem> {
    let (arrivals, sizes) = (product.arrivals.name(), product.sizes.name());
    let what = match (product.flows.or(natural), product.arrivals.flows_max(round), product.sizes.most()) {
        _ if product.arrivals.closed_loop().is_some() => {
            product.flows?;
            format!("does not go with arrivals.{arrivals}, whose flows are drawn during the run")
        }
        (None, _, Some(most)) => {
            format!("is missing; sizes.{sizes} has {most} sizes: say flows = {most} or less")
        }
        (None, ..) => match expected {
            None => format!("is missing{}", instead(product, background)),
            Some(flows) if flows > FLOWS_MAX as f64 => {
                let what = format!(
                    "lets {flows:.0} flows start, on average; a scenario has at most {FLOWS_MAX} flows"
                );
                return Some(Problem::new(format!("arrivals.{arrivals}.until"), what));
            }
            Some(_) => return None,
        },
        (Some(0), ..) if product.flows.is_some() => "0 is too few; use 1 or more".into(),
        (Some(flows), Some(most), _) if flows > most => {
            format!("{flows} is more than arrivals.{arrivals} has starts, {most}")
        }
        (Some(flows), ..) if flows > FLOWS_MAX => {
            format!("{flows} is too many; a scenario has at most {FLOWS_MAX} flows")
        }
        (Some(flows), _, Some(most)) if flows > most => {
            format!("{flows} is more than sizes.{sizes} has sizes, {most}")
        }
        (Some(flows), ..) => product.arrivals.problem_with_flows(flows, round)?,
    };
    Some(Problem::new("flows", what))
}
