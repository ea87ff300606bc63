//! The parts into which a sparse matrix falls: its rows and columns that entries connect.
//!
//! Parts are kept as entries come and go. An entry that comes may join two of them. An entry that goes may cut its part in
//! two: under load nearly all entries are in one part, and two walks, from its row and from its column, meet after a dozen
//! lines. Only if they do not, or if several entries have gone, a walk goes through the whole part.

use super::bytes;
use super::rows::Row;

/// Rows and columns: of a part, those that entries connect, each in order.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub rows: Vec<u16>,
    pub columns: Vec<u16>,
}

impl Part {
    fn clear(&mut self) {
        self.rows.clear();
        self.columns.clear();
    }

    fn size(&self) -> usize {
        self.rows.len() + self.columns.len()
    }

    /// Bytes that it takes beyond its own size.
    pub(super) fn heap_bytes(&self) -> usize {
        bytes(&self.rows) + bytes(&self.columns)
    }

    fn sort(&mut self) {
        self.rows.sort_unstable();
        self.columns.sort_unstable();
    }
}

/// The parts of a matrix.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// By number; some are free.
    parts: Vec<Tracked>,
    free: Vec<u16>,
    /// By row and by column: the number of its part.
    of_row: Vec<u16>,
    of_column: Vec<u16>,
    /// Rows and columns whose entries have changed since parts were last taken.
    changed: Part,
    /// By row and by column: the last walk that has seen it.
    rows_seen: Vec<u64>,
    columns_seen: Vec<u64>,
    walks: u64,
    from_row: Walk,
    from_column: Walk,
}

/// A part and what has become of it since it was last taken.
#[derive(Clone, Debug, Default)]
struct Tracked {
    part: Part,
    changed: bool,
    gone: Gone,
}

/// Entries of a part that have gone.
#[derive(Clone, Copy, Debug, Default)]
enum Gone {
    #[default]
    None,
    /// The one of this row and column.
    One(u16, u16),
    Several,
}

impl Gone {
    /// These and others.
    fn and(self, others: Gone) -> Gone {
        match (self, others) {
            (Gone::None, gone) | (gone, Gone::None) => gone,
            _ => Gone::Several,
        }
    }
}

/// A walk along entries: the lines that it has seen, and how many of these it has passed.
#[derive(Clone, Debug, Default)]
struct Walk {
    number: u64,
    seen: Part,
    rows_passed: usize,
    columns_passed: usize,
}

/// The number of no part: that of an empty line.
const NONE: u16 = u16::MAX;

impl Parts {
    /// Of an empty matrix for so many hosts.
    pub(super) fn new(hosts: usize) -> Parts {
        Parts {
            parts: Vec::new(),
            free: Vec::new(),
            of_row: vec![NONE; hosts],
            of_column: vec![NONE; hosts],
            changed: Part::default(),
            rows_seen: vec![0; hosts],
            columns_seen: vec![0; hosts],
            walks: 0,
            from_row: Walk::default(),
            from_column: Walk::default(),
        }
    }

    /// Bytes that they take beyond their own size.
    pub(super) fn heap_bytes(&self) -> usize {
        let lists = bytes(&self.parts) + bytes(&self.free) + bytes(&self.of_row) + bytes(&self.of_column);
        let tracked: usize = self.parts.iter().map(|tracked| tracked.part.heap_bytes()).sum();
        let walks = bytes(&self.rows_seen)
            + bytes(&self.columns_seen)
            + self.from_row.seen.heap_bytes()
            + self.from_column.seen.heap_bytes();
        lists + tracked + walks + self.changed.heap_bytes()
    }

    /// An entry has come.
    pub(super) fn inserted(&mut self, row: u16, column: u16) {
        let number = match (self.of_row[usize::from(row)], self.of_column[usize::from(column)]) {
            (NONE, NONE) => self.free_number(),
            (NONE, number) | (number, NONE) => number,
            (one, other) => self.join(one, other),
        };
        let of_row = std::mem::replace(&mut self.of_row[usize::from(row)], number);
        let of_column = std::mem::replace(&mut self.of_column[usize::from(column)], number);
        let tracked = &mut self.parts[usize::from(number)];
        if of_row == NONE {
            insert(&mut tracked.part.rows, row);
        }
        if of_column == NONE {
            insert(&mut tracked.part.columns, column);
        }
        self.touched(row);
    }

    /// An entry has gone.
    pub(super) fn removed(&mut self, row: u16, column: u16, rows: &[Row], columns: &[Vec<u16>]) {
        let number = self.of_row[usize::from(row)];
        let tracked = &mut self.parts[usize::from(number)];
        tracked.changed = true;
        tracked.gone = tracked.gone.and(Gone::One(row, column));
        if rows[usize::from(row)].entries.is_empty() {
            remove(&mut tracked.part.rows, row);
            self.of_row[usize::from(row)] = NONE;
        }
        if columns[usize::from(column)].is_empty() {
            remove(&mut tracked.part.columns, column);
            self.of_column[usize::from(column)] = NONE;
        }
        if tracked.part.size() == 0 {
            *tracked = Tracked::default();
            self.free.push(number);
        }
        // Without it, its row and its column may be in two parts.
        self.changed.rows.push(row);
        self.changed.columns.push(column);
    }

    /// An entry of this row has another rate, or is new.
    pub(super) fn touched(&mut self, row: u16) {
        let number = self.of_row[usize::from(row)];
        if number != NONE {
            self.parts[usize::from(number)].changed = true;
            self.changed.rows.push(row);
        }
    }

    /// Finds the next part in which something has changed; false: all have been found, until something changes again. Nothing
    /// may change between the first and that.
    pub(super) fn next_changed(&mut self, part: &mut Part, rows: &[Row], columns: &[Vec<u16>]) -> bool {
        while let Some((line, is_row)) = self.next_changed_line() {
            let number_of = |parts: &Parts| if is_row { parts.of_row[line] } else { parts.of_column[line] };
            let number = number_of(self);
            if number == NONE || !self.parts[usize::from(number)].changed {
                continue;
            }
            if self.is_cut(number, rows, columns) {
                self.split(number, rows, columns);
            }
            let number = number_of(self);
            let tracked = &mut self.parts[usize::from(number)];
            (tracked.changed, tracked.gone) = (false, Gone::None);
            part.clone_from(&tracked.part);
            return true;
        }
        false
    }

    /// Takes the next of the rows and columns whose entries have changed, and whether it is a row.
    fn next_changed_line(&mut self) -> Option<(usize, bool)> {
        let row = self.changed.rows.pop().map(|row| (usize::from(row), true));
        row.or_else(|| self.changed.columns.pop().map(|column| (usize::from(column), false)))
    }

    /// Whether a part may be several, without the entries that have gone.
    fn is_cut(&mut self, number: u16, rows: &[Row], columns: &[Vec<u16>]) -> bool {
        match self.parts[usize::from(number)].gone {
            Gone::None => false,
            Gone::Several => true,
            // A line that has lost its only entry connected no others.
            Gone::One(row, column) => {
                self.of_row[usize::from(row)] != NONE
                    && self.of_column[usize::from(column)] != NONE
                    && !self.connects(row, column, rows, columns)
            }
        }
    }

    /// Whether entries connect a row and a column that have some.
    fn connects(&mut self, row: u16, column: u16, rows: &[Row], columns: &[Vec<u16>]) -> bool {
        let Parts { rows_seen, columns_seen, walks, from_row, from_column, .. } = self;
        from_row.begin(walks, &[row], &[]);
        from_column.begin(walks, &[], &[column]);
        rows_seen[usize::from(row)] = from_row.number;
        columns_seen[usize::from(column)] = from_column.number;
        let (mut walk, mut other) = (from_row, from_column);
        loop {
            match walk.step(other.number, rows, columns, rows_seen, columns_seen) {
                Step::On => std::mem::swap(&mut walk, &mut other),
                Step::Met => return true,
                Step::End => return false,
            }
        }
    }

    /// Makes the parts of one that may be several. Each has a row or a column that has changed.
    fn split(&mut self, number: u16, rows: &[Row], columns: &[Vec<u16>]) {
        let whole = std::mem::take(&mut self.parts[usize::from(number)].part);
        let before = self.walks;
        let mut own = Some(number);
        for &row in &whole.rows {
            if self.rows_seen[usize::from(row)] > before {
                continue;
            }
            let Parts { rows_seen, columns_seen, walks, from_row: walk, .. } = self;
            walk.begin(walks, &[row], &[]);
            rows_seen[usize::from(row)] = walk.number;
            while let Step::On = walk.step(u64::MAX, rows, columns, rows_seen, columns_seen) {}
            let mut part = walk.seen.clone();
            part.sort();
            let number = own.take().unwrap_or_else(|| self.free_number());
            self.assign(&part, number);
            self.parts[usize::from(number)] = Tracked { part, changed: true, gone: Gone::None };
        }
    }

    /// Makes one part of two, unless they are the same; returns its number.
    fn join(&mut self, one: u16, other: u16) -> u16 {
        if one == other {
            return one;
        }
        let size = |number: u16| self.parts[usize::from(number)].part.size();
        let (kept, lost) = if size(one) >= size(other) { (one, other) } else { (other, one) };
        let joined = std::mem::take(&mut self.parts[usize::from(lost)]);
        self.free.push(lost);
        self.assign(&joined.part, kept);
        let tracked = &mut self.parts[usize::from(kept)];
        tracked.part.rows.extend(joined.part.rows);
        tracked.part.columns.extend(joined.part.columns);
        tracked.part.sort();
        tracked.gone = tracked.gone.and(joined.gone);
        kept
    }

    /// These rows and columns belong to the part of that number from now on.
    fn assign(&mut self, part: &Part, number: u16) {
        part.rows.iter().for_each(|row| self.of_row[usize::from(*row)] = number);
        part.columns.iter().for_each(|column| self.of_column[usize::from(*column)] = number);
    }

    fn free_number(&mut self) -> u16 {
        self.free.pop().unwrap_or_else(|| {
            self.parts.push(Tracked::default());
            self.parts.len() as u16 - 1
        })
    }
}

/// The state of a walk after a step.
enum Step {
    On,
    /// It has seen all lines that it can reach.
    End,
    /// A line that the other walk has seen.
    Met,
}

impl Walk {
    /// Begins at these lines.
    fn begin(&mut self, walks: &mut u64, rows: &[u16], columns: &[u16]) {
        *walks += 1;
        self.number = *walks;
        self.seen.clear();
        self.seen.rows.extend(rows);
        self.seen.columns.extend(columns);
        (self.rows_passed, self.columns_passed) = (0, 0);
    }

    /// Looks along the next line that it has seen.
    fn step(
        &mut self,
        other: u64,
        rows: &[Row],
        columns: &[Vec<u16>],
        rows_seen: &mut [u64],
        columns_seen: &mut [u64],
    ) -> Step {
        let (across, last_seen, found) = if let Some(&row) = self.seen.rows.get(self.rows_passed) {
            self.rows_passed += 1;
            (&rows[usize::from(row)].destinations, columns_seen, &mut self.seen.columns)
        } else if let Some(&column) = self.seen.columns.get(self.columns_passed) {
            self.columns_passed += 1;
            (&columns[usize::from(column)], rows_seen, &mut self.seen.rows)
        } else {
            return Step::End;
        };
        for &line in across {
            let last = &mut last_seen[usize::from(line)];
            if *last == other {
                return Step::Met;
            }
            if *last != self.number {
                *last = self.number;
                found.push(line);
            }
        }
        Step::On
    }
}

/// Adds a line to a list in order.
fn insert(lines: &mut Vec<u16>, line: u16) {
    let at = lines.binary_search(&line).expect_err("it had no entry");
    lines.insert(at, line);
}

/// Takes a line out of a list in order.
fn remove(lines: &mut Vec<u16>, line: u16) {
    let at = lines.binary_search(&line).expect("it had an entry");
    lines.remove(at);
}
