//! The offered rates between hosts as a sparse matrix R, and the parts into which it falls.
//!
//! A row is a source, a column a destination, an entry a destination queue that has something to send. Two entries
//! depend on each other only if they are connected through rows and columns that share entries: a change moves the rates of
//! its own part of the matrix and no other.
//!
//! Rows and columns are lists in order of host, so that an entry comes or goes in time of its row and its column, and a
//! network of thousands of hosts costs memory by the entry.

/// A destination queue with an offered rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its place among the entries wherever one must be first, drawn when it came.
    pub order: u32,
    /// The number that the owner of the matrix gives it.
    pub queue: u32,
    /// The offered rate as a share of the host's link, above 0 and at most 1.
    pub offered: f64,
    /// The offered rate times its priority.
    pub scaled: f64,
    /// The rate that it was given last, as a share of the host's link; 0 until then.
    pub rate: f64,
}

/// The matrix.
#[derive(Clone, Debug)]
pub struct Offered {
    /// By source.
    rows: Vec<Row>,
    /// By destination: the sources, in order.
    columns: Vec<Vec<u16>>,
    /// Rows and columns that are not empty.
    active: Size,
    /// Entries whose scaled rate is not 1.
    uneven: usize,
    /// Rows and columns that have changed since their part was last taken.
    changed: Part,
    /// By row and by column: the last part that it was in.
    row_part: Vec<u32>,
    column_part: Vec<u32>,
    /// The number of the present part, and of the first one of this update.
    part: u32,
    first_part: u32,
}

/// The entries of a source.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Where they send to, in order.
    pub destinations: Vec<u16>,
    /// The entries, in the same order.
    pub entries: Vec<Entry>,
}

/// Rows and columns that are connected, each in order.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The sources.
    pub rows: Vec<u16>,
    /// The destinations.
    pub columns: Vec<u16>,
}

/// A number of rows and of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    rows: usize,
    columns: usize,
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
            active: Size::default(),
            uneven: 0,
            changed: Part::default(),
            row_part: vec![0; hosts],
            column_part: vec![0; hosts],
            part: 1,
            first_part: 1,
        }
    }

    /// The entries of a source.
    pub fn row(&self, source: u16) -> &Row {
        &self.rows[usize::from(source)]
    }

    /// The same, to be given rates.
    pub(super) fn entries_mut(&mut self, source: u16) -> &mut [Entry] {
        &mut self.rows[usize::from(source)].entries
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

    /// Whether each entry has a scaled rate of 1.
    pub fn is_even(&self) -> bool {
        self.uneven == 0
    }

    /// A queue has something to send: `order` is a draw. There is one queue at most for a source and a destination.
    pub fn insert(&mut self, source: u16, destination: u16, entry: Entry) {
        assert!(entry.scaled > 0.0, "a queue offers something");
        let row = &mut self.rows[usize::from(source)];
        let column = &mut self.columns[usize::from(destination)];
        self.active.rows += usize::from(row.entries.is_empty());
        self.active.columns += usize::from(column.is_empty());
        let at = row.destinations.binary_search(&destination).expect_err("one queue for each two hosts");
        row.destinations.insert(at, destination);
        row.entries.insert(at, entry);
        let at = column.binary_search(&source).expect_err("as in its row");
        column.insert(at, source);
        self.uneven += usize::from(entry.scaled != 1.0);
        self.changed.rows.push(source);
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
        self.active.rows -= usize::from(row.entries.is_empty());
        self.active.columns -= usize::from(column.is_empty());
        self.uneven -= usize::from(gone.scaled != 1.0);
        // Without it, its row and its column may be in two parts.
        self.changed.rows.push(source);
        self.changed.columns.push(destination);
        Some(gone)
    }

    /// A queue offers another rate.
    pub fn set(&mut self, source: u16, destination: u16, offered: f64, scaled: f64) {
        assert!(scaled > 0.0, "a queue offers something");
        let entry = self.entry_mut(source, destination).expect("a queue that has something to send");
        let before = usize::from(entry.scaled != 1.0);
        (entry.offered, entry.scaled) = (offered, scaled);
        self.uneven = self.uneven - before + usize::from(scaled != 1.0);
        self.changed.rows.push(source);
    }

    /// Every entry counts as changed.
    pub fn change_all(&mut self) {
        self.changed.rows.extend((0..self.rows.len()).map(|row| row as u16));
    }

    /// Finds the next part in which something has changed; false: all have been found, until something changes again. Nothing
    /// may change between the first and that.
    pub fn next_changed(&mut self, part: &mut Part) -> bool {
        part.rows.clear();
        part.columns.clear();
        while part.rows.is_empty() {
            let size = Size { rows: part.rows.len(), columns: part.columns.len() };
            // An empty line is in no part.
            if let Some(row) = self.changed.rows.pop() {
                let own = if self.rows[usize::from(row)].entries.is_empty() { &[][..] } else { &[row] };
                see(own, &mut self.row_part, self.first_part, self.part, &mut part.rows);
            } else if let Some(column) = self.changed.columns.pop() {
                let own = if self.columns[usize::from(column)].is_empty() { &[][..] } else { &[column] };
                see(own, &mut self.column_part, self.first_part, self.part, &mut part.columns);
            } else {
                self.first_part = self.part;
                return false;
            }
            self.walk_from(size, part);
        }
        sort(&mut part.rows, &self.row_part, self.part);
        sort(&mut part.columns, &self.column_part, self.part);
        self.part += 1;
        true
    }

    /// Adds all entries that are connected with the part's entries from these places on.
    fn walk_from(&mut self, mut at: Size, part: &mut Part) {
        loop {
            // As soon as all rows and columns are found, the other entries need not be looked at: as a rule nine tenths.
            let size = Size { rows: part.rows.len(), columns: part.columns.len() };
            if size == self.active {
                return;
            }
            let row = part.rows.get(at.rows).filter(|_| size.columns < self.active.columns);
            if let Some(&row) = row {
                at.rows += 1;
                let destinations = &self.rows[usize::from(row)].destinations;
                see(destinations, &mut self.column_part, self.first_part, self.part, &mut part.columns);
            } else if let Some(&column) = part.columns.get(at.columns) {
                at.columns += 1;
                let sources = &self.columns[usize::from(column)];
                see(sources, &mut self.row_part, self.first_part, self.part, &mut part.rows);
            } else {
                return;
            }
        }
    }
}

/// Adds lines to a part that no part of this update has.
#[inline]
fn see(lines: &[u16], parts: &mut [u32], first_part: u32, part: u32, found: &mut Vec<u16>) {
    for &line in lines {
        let last = &mut parts[usize::from(line)];
        if *last < first_part {
            *last = part;
            found.push(line);
        }
    }
}

/// Puts the lines of a part in order, given the last part of each line of the matrix.
fn sort(lines: &mut Vec<u16>, parts: &[u32], part: u32) {
    // A part of an eighth of all lines, or more, is found sooner by a look at each.
    if lines.len() * 8 < parts.len() {
        return lines.sort_unstable();
    }
    lines.clear();
    lines.extend(parts.iter().zip(0..).filter(|(last, _)| **last == part).map(|(_, line)| line));
}
