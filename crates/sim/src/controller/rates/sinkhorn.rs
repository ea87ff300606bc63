//! Rates by iterative renormalisation of rows and columns: the controller of ASY.
//!
//! Sources: Sviridov, Bianco and Giaccone, "To sync or not to sync: why asynchronous traffic control is good
//! enough for your data center", Globecom 2018, III-B; Sinkhorn, "A relationship between arbitrary positive
//! matrices and doubly stochastic matrices", Annals of Mathematical Statistics 35 (1964). The paper specifies
//! neither the number of rounds nor the steps after them: so many rounds divide each row, then each column,
//! by its sum; one last division makes no sum exceed 1; the remainder of rows and columns is then allocated.
//! Most entries then share the links that they need, but the rates of queues that stand in the way of the
//! highest sum go towards 0 on a sparse matrix.
//!
//! A rate is `u[i] * r[i][j] * v[j]`: a division of a row or a column changes one factor, so that a round reads the
//! entries twice and writes none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bytes;
use super::lines::Lines;
use super::matrix::{Drawn, Offered, Part, Procedure, Row};

/// Computation of rates from the offered ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sinkhorn {
    /// Rounds, each of which divides each row, then each column, by its sum. Few rounds are fairer on a
    /// sparse matrix, many come nearer to the highest sum of rates.
    #[schemars(range(min = 1, max = 60))]
    pub rounds: u32,
    /// Effect of a division on a row or column whose sum is below 1.
    pub scaling: Scaling,
    /// The remainder of rows and columns is allocated, queue by queue, in an order drawn at random when each
    /// queue became non-empty.
    pub fill: bool,
    /// No queue gets more than it offers; rows and columns are then scaled down only.
    pub cap_by_offered: bool,
    /// The least rate of a non-empty queue, as a share of its link; it is taken from the largest of its row
    /// and of its column, as far as these can spare it. 0: none, as in the paper.
    #[schemars(range(min = 0.0, max = 0.01))]
    pub guard: f64,
    /// Factors of the offered rates of each class, from class 0; a class beyond the end has 1 (II-B:
    /// priorities by the entries of R).
    #[schemars(length(max = 8), inner(range(min = 0.000001, max = 1000000.0)))]
    pub priorities: Vec<f64>,
}

/// Effect of a division on a row or column whose sum is below 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// It is scaled up to 1: the rates have nearly the highest sum.
    #[default]
    Both,
    /// It stays as it is: one round is then as good as many, and the sum is lower.
    Down,
}

impl Default for Sinkhorn {
    fn default() -> Self {
        Sinkhorn {
            rounds: 20,
            scaling: Scaling::Both,
            fill: true,
            cap_by_offered: false,
            guard: 0.0,
            priorities: Vec::new(),
        }
    }
}

impl Sinkhorn {
    /// Factor of the offered rates of a class.
    pub fn priority(&self, class: usize) -> f64 {
        self.priorities.get(class).copied().unwrap_or(1.0)
    }

    fn only_down(&self) -> bool {
        self.scaling == Scaling::Down || self.cap_by_offered
    }
}

/// A row or a column that lacks less than this is full.
const SLACK_LEAST: f64 = 1e-6;

/// Rows whose sums agree with each other to this share of them are done: the procedure contracts Hilbert's projective metric, so
/// that no later round moves a rate further than twice that, and 60 rounds by 6e-10 at most.
const AGREED: f64 = 5e-12;

/// Computes rates; its working memory is kept from update to update.
#[derive(Clone, Debug)]
pub struct Normaliser {
    config: Sinkhorn,
    part: Part,
    rows: Lines,
    columns: Lines,
    /// By host: the place of its column in the part.
    column_place: Vec<u16>,
    /// By host: the remainder of its row and of its column; 0 if they are not in the part.
    row_slack: Vec<f64>,
    column_slack: Vec<f64>,
    /// Entries whose row and column both have a remainder, in the order of their draws.
    candidates: Vec<Drawn>,
    updated: Vec<u16>,
}

impl Procedure for Normaliser {
    fn update(&mut self, offered: &mut Offered) -> &[u16] {
        self.updated.clear();
        while offered.next_changed(&mut self.part) {
            if offered.is_even() {
                self.pack::<true>(offered);
                self.scale::<true>();
            } else {
                self.pack::<false>(offered);
                self.scale::<false>();
            }
            self.write(offered);
            if self.config.fill {
                self.fill(offered);
            }
            if self.config.guard > 0.0 {
                self.guard(offered);
            }
            self.part.rows.iter().for_each(|row| self.row_slack[usize::from(*row)] = 0.0);
            self.part.columns.iter().for_each(|column| self.column_slack[usize::from(*column)] = 0.0);
            self.updated.extend(&self.part.rows);
        }
        &self.updated
    }

    fn priority(&self, class: usize) -> f64 {
        self.config.priority(class)
    }

    fn heap_bytes(&self) -> usize {
        let by_host = bytes(&self.column_place) + bytes(&self.row_slack) + bytes(&self.column_slack);
        let of_part = bytes(&self.candidates) + bytes(&self.updated) + self.part.heap_bytes();
        by_host + of_part + self.rows.heap_bytes() + self.columns.heap_bytes()
    }
}

impl Normaliser {
    /// For so many hosts.
    pub fn new(config: Sinkhorn, hosts: usize) -> Normaliser {
        Normaliser {
            config,
            part: Part::default(),
            rows: Lines::new(),
            columns: Lines::new(),
            column_place: vec![0; hosts],
            row_slack: vec![0.0; hosts],
            column_slack: vec![0.0; hosts],
            candidates: Vec::new(),
            updated: Vec::new(),
        }
    }

    /// Lays out the part by rows and by columns.
    fn pack<const EVEN: bool>(&mut self, offered: &Offered) {
        let Normaliser { part, rows, columns, column_place, .. } = self;
        rows.shape(&part.rows, EVEN, |&row| offered.row(row).entries.len());
        columns.shape(&part.columns, EVEN, |&column| offered.column(column).len());
        for (place, &column) in columns.lines.iter().enumerate() {
            column_place[usize::from(column)] = place as u16;
        }
        for place in 0..rows.lines.len() {
            let Row { destinations, entries } = offered.row(rows.lines[place]);
            let mut at = rows.first(place);
            for (destination, entry) in destinations.iter().zip(entries) {
                let column = column_place[usize::from(*destination)];
                at = rows.put::<EVEN>(at, column, entry.scaled);
                columns.push::<EVEN>(column, place as u16, entry.scaled);
            }
        }
    }

    /// Finds the factors. Each column's sum is then at most 1, since columns are divided last; one more division of rows does
    /// the same to these.
    fn scale<const EVEN: bool>(&mut self) {
        let Normaliser { rows, columns, .. } = self;
        if self.config.only_down() {
            // Rows stay below 1 when columns shrink: a second round would change nothing.
            rows.divide::<EVEN, false>(columns);
            columns.divide::<EVEN, false>(rows);
            return;
        }
        for round in 0..self.config.rounds {
            let spread = rows.divide_and_compare::<EVEN>(columns);
            columns.divide::<EVEN, true>(rows);
            // Before the first round, columns have not been divided yet.
            if round > 0 && spread <= AGREED {
                break;
            }
        }
        rows.divide::<EVEN, false>(columns);
    }

    /// Gives entries their rates and notes the remainders of rows and columns.
    fn write(&mut self, offered: &mut Offered) {
        self.part.columns.iter().for_each(|column| self.column_slack[usize::from(*column)] = 1.0);
        for (place, &row) in self.rows.lines.iter().enumerate() {
            let factor = self.rows.factors[place];
            let mut slack = 1.0;
            let Row { destinations, entries } = offered.row_mut(row);
            for ((entry, destination), column) in
                entries.iter_mut().zip(destinations).zip(self.rows.others(place))
            {
                let mut rate = factor * entry.scaled * self.columns.factors[usize::from(column)];
                if self.config.cap_by_offered {
                    rate = rate.min(entry.offered);
                }
                entry.rate = rate;
                slack -= rate;
                self.column_slack[usize::from(*destination)] -= rate;
            }
            self.row_slack[usize::from(row)] = slack;
        }
    }

    /// Raises entries by the remainder that both their row and their column have, in the order of their draws. An entry that
    /// was raised leaves no remainder to one of them, and remainders only fall: one pass is enough.
    fn fill(&mut self, offered: &mut Offered) {
        self.candidates.clear();
        let Normaliser { candidates, row_slack, column_slack, .. } = self;
        let has_slack = |drawn: &Drawn| {
            row_slack[usize::from(drawn.source)].min(column_slack[usize::from(drawn.destination)])
                > SLACK_LEAST
        };
        let in_part: usize = self.part.rows.iter().map(|row| offered.row(*row).entries.len()).sum();
        if in_part >= offered.drawn().len() / 4 {
            candidates.extend(offered.drawn().iter().filter(|drawn| has_slack(drawn)));
        } else {
            // Of a small part the entries are sorted sooner than found among all.
            let of_rows = self.part.rows.iter().flat_map(|row| offered.drawn_of(*row));
            candidates.extend(of_rows.filter(has_slack));
            candidates.sort_unstable_by_key(|drawn| drawn.order);
        }
        for &Drawn { source, destination, .. } in &self.candidates {
            let row = &mut self.row_slack[usize::from(source)];
            let column = &mut self.column_slack[usize::from(destination)];
            let mut slack = row.min(*column);
            if slack <= SLACK_LEAST {
                continue;
            }
            let entry = offered.entry_mut(source, destination).expect("it is in the matrix");
            if self.config.cap_by_offered {
                slack = slack.min(entry.offered - entry.rate);
            }
            if slack > SLACK_LEAST {
                entry.rate += slack;
                *row -= slack;
                *column -= slack;
            }
        }
    }

    /// Raises entries to the least rate, at the cost of the largest of their row and of their column.
    fn guard(&mut self, offered: &mut Offered) {
        let guard = self.config.guard;
        for &source in &self.rows.lines {
            for number in 0..offered.row(source).entries.len() {
                let Row { destinations, entries } = offered.row(source);
                let (destination, entry) = (destinations[number], entries[number]);
                let least = if self.config.cap_by_offered { guard.min(entry.offered) } else { guard };
                let rate =
                    |source, destination| offered.entry(source, destination).expect("in its column").rate;
                let in_row =
                    entries.iter().zip(destinations).map(|(entry, &destination)| (entry.rate, destination));
                let in_column = offered.column(destination).iter();
                let in_column = in_column.map(|&source| (rate(source, destination), source));
                let (from_row, other_column) = largest(in_row);
                let (from_column, other_row) = largest(in_column);
                let (row, column) = (usize::from(source), usize::from(destination));
                let (row_left, column_left) =
                    (self.row_slack[row].max(0.0), self.column_slack[column].max(0.0));
                let row_spare = row_left + (from_row - guard).max(0.0);
                let column_spare = column_left + (from_column - guard).max(0.0);
                let raise = (least - entry.rate).min(row_spare).min(column_spare);
                if raise <= 0.0 {
                    continue;
                }
                let (row_gives, column_gives) = ((raise - row_left).max(0.0), (raise - column_left).max(0.0));
                offered.row_mut(source).entries[number].rate += raise;
                offered.entry_mut(source, other_column).expect("in the row").rate -= row_gives;
                offered.entry_mut(other_row, destination).expect("in the column").rate -= column_gives;
                self.row_slack[row] += row_gives - raise;
                self.column_slack[column] += column_gives - raise;
                self.column_slack[usize::from(other_column)] += row_gives;
                self.row_slack[usize::from(other_row)] += column_gives;
            }
        }
    }
}

fn largest(rates: impl Iterator<Item = (f64, u16)>) -> (f64, u16) {
    rates.fold((0.0, 0), |most, rate| if rate.0 > most.0 { rate } else { most })
}
