//! The offered rates between hosts as a sparse matrix R, and the parts into which it falls.
//!
//! A row is a source, a column a destination, an entry a destination queue that has something to send. Two entries
//! depend on each other only if they are connected through rows and columns that share entries: a change moves the rates of
//! its own part of the matrix and no other (`parts`).
//!
//! Rows and columns are lists in order of host, so that an entry comes or goes in time of its row and its column, and a
//! network of thousands of hosts costs memory by the entry.

use super::bytes;
pub use super::parts::Part;
use super::parts::Parts;
pub use super::rows::{Entry, Row};

/// Computation of rates from offered rates.
pub trait Procedure {
    /// Gives each entry that depends on the change its rate; returns the sources of these. The rates are those that
    /// computing all anew would give.
    fn update(&mut self, offered: &mut Offered) -> &[u16];

    /// Factor of the offered rates of a class.
    fn priority(&self, class: usize) -> f64;

    /// Bytes that it takes beyond its own size.
    fn heap_bytes(&self) -> usize;
}

/// The matrix.
#[derive(Clone, Debug)]
pub struct Offered {
    /// By source.
    rows: Vec<Row>,
    /// By destination: the sources, in order.
    columns: Vec<Vec<u16>>,
    /// Entries whose scaled rate is not 1.
    uneven: usize,
    /// All entries by their draws.
    drawn: Vec<Drawn>,
    parts: Parts,
}

/// An entry by its draw, and of equal ones by the number of its queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub(super) order: u64,
    pub(super) source: u16,
    pub(super) destination: u16,
}

impl Drawn {
    fn order(entry: &Entry) -> u64 {
        u64::from(entry.order) << 32 | u64::from(entry.queue)
    }
}

/// The most hosts: their numbers, in slices of eight, and one more fit into 16 bits.
pub const HOSTS_MOST: usize = (1 << 16) - 8;

impl Offered {
    /// No entry among so many hosts.
    pub fn new(hosts: usize) -> Offered {
        assert!(hosts <= HOSTS_MOST, "{hosts} hosts are more than a matrix of rates can have");
        Offered {
            rows: vec![Row::default(); hosts],
            columns: vec![Vec::new(); hosts],
            uneven: 0,
            drawn: Vec::new(),
            parts: Parts::new(hosts),
        }
    }

    /// The entries of a source.
    pub fn row(&self, source: u16) -> &Row {
        &self.rows[usize::from(source)]
    }

    /// The same, whose entries are to be given rates.
    pub(super) fn row_mut(&mut self, source: u16) -> &mut Row {
        &mut self.rows[usize::from(source)]
    }

    /// The sources that have an entry for a destination, in order.
    pub fn column(&self, destination: u16) -> &[u16] {
        &self.columns[usize::from(destination)]
    }

    /// The entry of a source and a destination.
    pub fn entry(&self, source: u16, destination: u16) -> Option<&Entry> {
        let row = self.row(source);
        row.destinations.binary_search(&destination).ok().map(|at| &row.entries[at])
    }

    /// The same, to be given a rate.
    pub(super) fn entry_mut(&mut self, source: u16, destination: u16) -> Option<&mut Entry> {
        let row = &mut self.rows[usize::from(source)];
        row.destinations.binary_search(&destination).ok().map(|at| &mut row.entries[at])
    }

    /// All entries, in the order of their draws.
    pub(super) fn drawn(&self) -> &[Drawn] {
        &self.drawn
    }

    /// The entries of a source.
    pub(super) fn drawn_of(&self, source: u16) -> impl Iterator<Item = Drawn> {
        let Row { destinations, entries } = self.row(source);
        let drawn = move |(entry, &destination)| Drawn { order: Drawn::order(entry), source, destination };
        entries.iter().zip(destinations).map(drawn)
    }

    /// Whether each entry has a scaled rate of 1.
    pub fn is_even(&self) -> bool {
        self.uneven == 0
    }

    /// A queue has something to send: `order` is a draw. There is one queue at most for a source and a destination.
    pub fn insert(&mut self, source: u16, destination: u16, entry: Entry) {
        assert!(entry.scaled > 0.0, "a queue offers something");
        let row = &mut self.rows[usize::from(source)];
        let column = &mut self.columns[usize::from(destination)];
        let at = row.destinations.binary_search(&destination).expect_err("one queue for each two hosts");
        row.destinations.insert(at, destination);
        row.entries.insert(at, entry);
        let at = column.binary_search(&source).expect_err("as in its row");
        column.insert(at, source);
        self.uneven += usize::from(entry.scaled != 1.0);
        let order = Drawn::order(&entry);
        let at = self.drawn.partition_point(|drawn| drawn.order < order);
        self.drawn.insert(at, Drawn { order, source, destination });
        self.parts.inserted(source, destination);
    }

    /// A queue has nothing to send any more.
    pub fn remove(&mut self, source: u16, destination: u16) -> Option<Entry> {
        let row = &mut self.rows[usize::from(source)];
        let at = row.destinations.binary_search(&destination).ok()?;
        row.destinations.remove(at);
        let gone = row.entries.remove(at);
        let column = &mut self.columns[usize::from(destination)];
        let at = column.binary_search(&source).expect("as in its row");
        column.remove(at);
        self.uneven -= usize::from(gone.scaled != 1.0);
        let order = Drawn::order(&gone);
        let at = self.drawn.partition_point(|drawn| drawn.order < order);
        let same = |drawn: &Drawn| (drawn.source, drawn.destination) == (source, destination);
        let among_equals = self.drawn[at..].iter().position(same).expect("as in its row");
        self.drawn.remove(at + among_equals);
        self.parts.removed(source, destination, &self.rows, &self.columns);
        Some(gone)
    }

    /// A queue offers another rate.
    pub fn set(&mut self, source: u16, destination: u16, offered: f64, scaled: f64) {
        assert!(scaled > 0.0, "a queue offers something");
        let entry = self.entry_mut(source, destination).expect("a queue that has something to send");
        let before = usize::from(entry.scaled != 1.0);
        (entry.offered, entry.scaled) = (offered, scaled);
        self.uneven = self.uneven - before + usize::from(scaled != 1.0);
        self.parts.touched(source);
    }

    /// Every entry counts as changed.
    pub fn change_all(&mut self) {
        (0..self.rows.len()).for_each(|row| self.parts.touched(row as u16));
    }

    /// Bytes that it takes beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        let rows: usize = self.rows.iter().map(|row| bytes(&row.destinations) + bytes(&row.entries)).sum();
        let columns: usize = self.columns.iter().map(bytes).sum();
        let lists = bytes(&self.rows) + bytes(&self.columns) + bytes(&self.drawn);
        rows + columns + lists + self.parts.heap_bytes()
    }

    /// Finds the next part in which something has changed; false: all have been found, until something changes again. Nothing
    /// may change between the first and that.
    pub fn next_changed(&mut self, part: &mut Part) -> bool {
        self.parts.next_changed(part, &self.rows, &self.columns)
    }
}
