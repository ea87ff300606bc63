//! Files with a cumulative distribution of sizes, as simulators and traffic generators write them.
//!
//! Each line has a size and a cumulative share, parted by blanks, tabs or commas; `#` begins a comment. The
//! dialects differ in the meaning of the numbers, which the files do not state:
//!
//! | dialect | used by | a line |
//! |---|---|---|
//! | percent | HPCC and the ns-3 programs that came from it | size, percent up to 100 |
//! | fraction | TrafficGenerator | size, probability up to 1 |
//! | ns2 | ns-2, pFabric, PIAS, YAPS | packets, a column that is not used, probability up to 1 |
//! | homa | the Homa simulator | size, probability up to 1; before them the mean, alone on the first line |
//!
//! The dialect is recognised from the lines where these leave no choice. The unit of ns2 sizes is never
//! guessed. netbench has its distributions in code; its two readings are the two interpolations.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::value::StrDeserializer;

use super::cdf::{Cdf, Dialect, Interpolation};
use super::{Distribution, SIZE_MAX};

/// The user's settings for a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How it is written, if not as it looks.
    pub dialect: Option<Dialect>,
    /// Bytes of payload in a packet, if sizes are in packets.
    pub packet_bytes: Option<u64>,
    /// Interpolation between two lines, if not the dialect's usual one.
    pub interpolation: Option<Interpolation>,
}

impl Options {
    /// From names, as scenarios spell them; or which there are.
    pub fn named(
        dialect: Option<&str>,
        packet_bytes: Option<u64>,
        interpolation: Option<&str>,
    ) -> Result<Options, String> {
        if packet_bytes == Some(0) {
            return Err("packet_bytes is 0; use 1 or more".into());
        }
        Ok(Options {
            dialect: dialect.map(|name| variant(name, "dialect")).transpose()?,
            packet_bytes,
            interpolation: interpolation.map(|name| variant(name, "interpolation")).transpose()?,
        })
    }
}

/// The variant of that name.
fn variant<T: DeserializeOwned>(name: &str, what: &str) -> Result<T, String> {
    let named = T::deserialize(StrDeserializer::<serde::de::value::Error>::new(name));
    let said = |error: serde::de::value::Error| error.to_string().replace('`', "\"");
    named.map_err(|error| {
        said(error)
            .replace("unknown variant", &format!("{what} is"))
            .replace(", expected one of", "; use one of")
    })
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CdfFile {
    /// The points of a [`Cdf`], where a step is two points with the same size.
    pub points: Vec<(u64, f64)>,
    /// The mean of that distribution, which need not be that of the next program that reads the file.
    pub mean_bytes: f64,
    /// How the file was taken to be written.
    pub dialect: Dialect,
    /// The interpolation used between its lines.
    pub interpolation: Interpolation,
}

/// Most lines with numbers: as many as the points that a scenario may have, each of them a step.
const LINES_MAX: usize = 50_000;

/// A line of numbers, with its number in the file.
type Row = (usize, Vec<f64>);

/// Reads a file; or returns the problem, with its line.
pub fn read(text: &str, options: Options) -> Result<CdfFile, String> {
    let rows = rows(text)?;
    let dialect = dialect(&rows, options.dialect)?;
    let rows = match (dialect, &rows[..]) {
        (Dialect::Homa, [(_, mean), points @ ..]) if mean.len() == 1 => points,
        (Dialect::Homa, [(line, _), ..]) => {
            return Err(format!("line {line}: is not the mean alone, as in the dialect \"homa\""));
        }
        (_, rows) => rows,
    };
    let unit = match (dialect, options.packet_bytes) {
        (Dialect::Ns2, None) => {
            let what = "has sizes in packets; give packet_bytes, the payload of a packet, such as \"1460B\"";
            return Err(what.into());
        }
        (_, bytes) => bytes.unwrap_or(1) as f64,
    };
    let usual = if dialect == Dialect::Homa { Interpolation::Step } else { Interpolation::Linear };
    let interpolation = options.interpolation.unwrap_or(usual);
    let mut points = table(rows, dialect, unit)?;
    if interpolation == Interpolation::Step {
        points = steps(&points);
    }
    let mean_bytes = Cdf::of(points.clone()).mean();
    Ok(CdfFile { points, mean_bytes, dialect, interpolation })
}

/// The numbers of each line that has any.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    let mut headed = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split([',', ' ', '\t']).filter(|word| !word.is_empty()).collect();
        let names = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if words.is_empty() {
            continue;
        }
        // A file of comma-separated values may begin with the names of its columns.
        if !headed && rows.is_empty() && line.contains(',') && words.iter().all(names) {
            headed = true;
            continue;
        }
        let number = |word: &&str| word.parse().ok().filter(|number: &f64| number.is_finite());
        let wrong = |word: &&str| !number(word).is_some_and(|number| number >= 0.0);
        if let Some(word) = words.iter().find(|word| wrong(word)) {
            let word: String = word.chars().take(30).collect();
            return Err(format!("line {}: \"{word}\" is not a number of at least 0", index + 1));
        }
        if rows.len() == LINES_MAX {
            return Err(format!("line {}: is one too many; at most {LINES_MAX} have numbers", index + 1));
        }
        rows.push((index + 1, words.iter().filter_map(number).collect()));
    }
    if rows.is_empty() { Err("has no points".into()) } else { Ok(rows) }
}

/// Format of the file: the user's setting, else as recognised from its lines.
fn dialect(rows: &[Row], said: Option<Dialect>) -> Result<Dialect, String> {
    let ((_, first), (line, last)) = (&rows[0], &rows[rows.len() - 1]);
    let looks = match (first.len(), last.len(), last.last()) {
        (1, 2, _) => Some(Dialect::Homa),
        (3, ..) => Some(Dialect::Ns2),
        (2, 2, Some(1.0)) => Some(Dialect::Fraction),
        (2, 2, Some(100.0)) => Some(Dialect::Percent),
        (1 | 2, ..) => None,
        (many, ..) => return Err(format!("line {}: has {many} numbers; a line has 2 or 3", rows[0].0)),
    };
    let swapped = first.len() == 2
        && matches!(last[0], 1.0 | 100.0)
        && rows.windows(2).all(|pair| pair[0].1[0] <= pair[1].1[0]);
    said.or(looks).ok_or_else(|| {
        if swapped {
            return format!("line {line}: the shares seem to stand first; write size, then share, in each line");
        }
        format!(
            "line {line}: the last line does not end with 1 or 100, which would identify the dialect; give it: \"percent\" (size, percent), \
             \"fraction\" (size, probability), \"ns2\" (packets, anything, probability) or \"homa\" (the mean, \
             then size, probability)"
        )
    })
}

/// The points [bytes, percent] as they stand in the file.
fn table(rows: &[Row], dialect: Dialect, unit: f64) -> Result<Vec<(u64, f64)>, String> {
    let columns = if dialect == Dialect::Ns2 { 3 } else { 2 };
    let whole = if dialect == Dialect::Percent { 100.0 } else { 1.0 };
    let mut points: Vec<(u64, f64)> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (line, row) in rows {
        let wrong = |what: String| Err(format!("line {line}: {what}"));
        if row.len() != columns {
            return wrong(format!("a line has {columns} numbers, this one {}", row.len()));
        }
        let (size, share) = (row[0], row[columns - 1]);
        if share > whole {
            return wrong(format!("{share} is above {whole}"));
        }
        if size * unit > SIZE_MAX as f64 {
            return wrong(format!("{} bytes is above 1000GB", size * unit));
        }
        if let Some((size_before, share_before)) = before {
            if size < size_before {
                return wrong(format!("size {size} comes after {size_before}; sizes ascend"));
            }
            if share < share_before {
                return wrong(format!("share {share} comes after {share_before}; shares ascend"));
            }
            if (size, share) == (size_before, share_before) {
                return wrong("repeats the line before".into());
            }
        }
        before = Some((size, share));
        // Rounded so that 0.07 is 7 percent and not 7.000000000000001.
        let percent = if whole == 1.0 { (share * 1e14).round() / 1e12 } else { share };
        let point = ((size * unit).round() as u64, percent);
        // Two lines may differ by less than a byte.
        if points.last() != Some(&point) {
            points.push(point);
        }
    }
    match (before, rows.last()) {
        (Some((_, share)), Some((line, _))) if share != whole => {
            Err(format!("line {line}: the last share is {share}; it must be {whole}"))
        }
        (None, _) => Err("has no points".into()),
        _ => Ok(points),
    }
}

/// The points of the distribution in which each size has the whole of its share.
fn steps(points: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let mut steps: Vec<(u64, f64)> = Vec::with_capacity(2 * points.len());
    for &(size, percent) in points {
        let before = steps.last().copied();
        if percent <= before.map_or(0.0, |(_, share)| share) {
            continue;
        }
        steps.extend(before.filter(|(last, _)| *last != size).map(|(_, share)| (size, share)));
        steps.push((size, percent));
    }
    steps
}
