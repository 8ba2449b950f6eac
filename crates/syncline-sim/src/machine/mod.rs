//! A many-core: what is where, and how many cycles an access takes.

mod description;

use std::path::Path;

pub use description::{Costs, Description, FORMAT, Homes, Local, Protocol, Scheduler};

/// The most private caches that a machine may have.
pub const MOST_CACHES: usize = 256;

/// What is done to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum Access {
    Load,
    Store,
    CompareAndSwap,
    FetchAndIncrement,
    TestAndSet,
    Swap,
}

const ACCESSES: usize = 6;

/// What a line was in before an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum State {
    /// One cache has it, changed.
    Modified,
    /// One cache has it changed, and others have copies.
    Owned,
    /// One cache has it, unchanged.
    Exclusive,
    /// Several caches have it, unchanged.
    Shared,
    /// No cache has it.
    Invalid,
}

const STATES: usize = 5;

/// Why a description is no machine.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{path}: {source}")]
    Io { path: String, source: std::io::Error },
    #[error("{path}: not a machine description: {source}")]
    Syntax { path: String, source: serde_json::Error },
    #[error("{path}: described in format {found}, and this Syncline reads {FORMAT}")]
    Format { path: String, found: String },
    #[error("{path}: {what}")]
    Wrong { path: String, what: String },
}

/// A machine that accesses can be simulated on.
#[derive(Debug)]
pub struct Machine {
    /// What it was made of.
    pub description: Description,
    /// Cycles by access, state and class of distance.
    cycles: [[Vec<u32>; STATES]; ACCESSES],
    /// Class of the distance between two nodes.
    classes: Vec<u8>,
    /// Cycles of a local access; none if it is not local even on the thread's own line.
    local: [Option<u32>; ACCESSES],
}

/// The machines that come with Syncline.
const BUILT_IN: [(&str, &str); 4] = [
    ("opteron", include_str!("../../machines/opteron.json")),
    ("xeon", include_str!("../../machines/xeon.json")),
    ("niagara", include_str!("../../machines/niagara.json")),
    ("tilera", include_str!("../../machines/tilera.json")),
];

impl Machine {
    /// The names of the machines that come with Syncline.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|&(name, _)| name)
    }

    /// The machine of this name that comes with Syncline; none if there is none.
    pub fn named(name: &str) -> Option<Machine> {
        let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Machine::parse(text, name).expect("the machines that come along are well described"))
    }

    /// A machine from the file that describes it.
    ///
    /// # Errors
    /// If the file can't be read, or does not describe a machine.
    pub fn load(path: &Path) -> Result<Machine, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Io { path: name.clone(), source })?;
        Machine::parse(&text, &name)
    }

    fn parse(text: &str, path: &str) -> Result<Machine, Error> {
        let path = || path.to_owned();
        let syntax = |source| Error::Syntax { path: path(), source };
        // The format first: another version may have other fields.
        let format: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
        match format.get("format").and_then(|format| format.as_str()) {
            Some(FORMAT) => {}
            other => {
                let found = other.unwrap_or("none").to_owned();
                return Err(Error::Format { path: path(), found });
            }
        }
        let description = serde_json::from_value(format).map_err(syntax)?;
        Machine::new(description).map_err(|what| Error::Wrong { path: path(), what })
    }

    /// A machine of this description.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn new(description: Description) -> Result<Machine, String> {
        check(&description)?;
        let distances = &description.distances;
        let mut kinds: Vec<f64> = distances.iter().flatten().copied().collect();
        kinds.sort_by(f64::total_cmp);
        kinds.dedup();
        if kinds.len() > usize::from(u8::MAX) {
            return Err("distances: more than 255 different ones".to_owned());
        }
        let class = |distance: &f64| kinds.iter().position(|kind| kind == distance);
        let classes = distances.iter().flatten().filter_map(class).map(|c| c as u8).collect();
        let d = &description;
        let tables = [&d.load, &d.store, &d.cas, &d.fai, &d.tas, &d.swap];
        let cycles = tables.map(|costs| {
            let or = |row: &Vec<f64>, other: &Vec<f64>| {
                if row.is_empty() { other.clone() } else { row.clone() }
            };
            [
                costs.modified.clone(),
                or(&costs.owned, &costs.modified),
                costs.exclusive.clone(),
                costs.shared.clone(),
                or(&costs.invalid, &d.load.invalid),
            ]
            .map(|row| kinds.iter().map(|&at| interpolated(&row, &d.columns_at, at)).collect())
        });
        let mut local = [d.local.atomic; ACCESSES];
        local[Access::Load as usize] = Some(d.local.load);
        local[Access::Store as usize] = d.local.store;
        Ok(Machine { cycles, classes, local, description })
    }

    /// Hardware threads.
    pub fn threads(&self) -> usize {
        self.caches() * self.description.threads_per_cache
    }

    /// Private caches.
    pub fn caches(&self) -> usize {
        self.description.nodes * self.description.caches_per_node
    }

    /// The cache of a hardware thread. Threads are numbered cache by cache.
    pub fn cache_of(&self, thread: usize) -> usize {
        thread / self.description.threads_per_cache
    }

    /// The node of a cache.
    pub fn node_of(&self, cache: usize) -> usize {
        cache / self.description.caches_per_node
    }

    /// The class of the distance between two nodes: 0 is the least.
    #[inline]
    pub fn class(&self, a: usize, b: usize) -> usize {
        usize::from(self.classes[a * self.description.nodes + b])
    }

    /// The class of the greatest distance.
    pub fn farthest(&self) -> usize {
        self.classes.iter().copied().max().map_or(0, usize::from)
    }

    /// Cycles of an access over a class of distance to a line in this state.
    #[inline]
    pub fn cycles(&self, access: Access, state: State, class: usize) -> u32 {
        self.cycles[access as usize][state as usize][class]
    }

    /// Cycles of an access to a line that the cache has as it needs it; none if even such an
    /// access goes out.
    #[inline]
    pub fn local(&self, access: Access) -> Option<u32> {
        self.local[access as usize]
    }

    /// Whether a changed line that others read stays with its owner (MOESI's Owned).
    #[inline]
    pub fn has_owned(&self) -> bool {
        !self.description.load.owned.is_empty()
    }

    /// Cycles in so many seconds.
    pub fn in_cycles(&self, seconds: f64) -> u64 {
        (seconds * self.description.hertz) as u64
    }
}

/// The cost at a distance, between or beyond the columns.
fn interpolated(row: &[f64], at: &[f64], distance: f64) -> u32 {
    let after = at.iter().position(|&column| column >= distance).unwrap_or(at.len() - 1);
    let cost = match after {
        0 => row[0],
        _ => {
            let (near, far) = (at[after - 1], at[after]);
            let slope = (row[after] - row[after - 1]) / (far - near);
            row[after] + (distance - far) * slope
        }
    };
    cost.round().max(1.0) as u32
}

fn check(d: &Description) -> Result<(), String> {
    let positive = |n: usize, what: &str| match n {
        0 => Err(format!("{what}: must be 1 at least")),
        _ => Ok(()),
    };
    positive(d.nodes, "nodes")?;
    positive(d.caches_per_node, "caches_per_node")?;
    positive(d.threads_per_cache, "threads_per_cache")?;
    let caches = d.nodes.saturating_mul(d.caches_per_node);
    if caches > MOST_CACHES {
        return Err(format!("{caches} caches, and at most {MOST_CACHES} can be simulated"));
    }
    if !(d.hertz.is_finite() && d.hertz >= 1e6) {
        return Err("hertz: must be 1e6 at least".to_owned());
    }
    let columns = d.columns_at.len();
    let ascending = d.columns_at.windows(2).all(|pair| pair[0] < pair[1]);
    if columns == 0 || columns != d.columns.len() || !ascending {
        return Err("columns_at: one distance for each of columns, ascending".to_owned());
    }
    let square = d.distances.len() == d.nodes && d.distances.iter().all(|r| r.len() == d.nodes);
    if !square || d.distances.iter().flatten().any(|d| !(d.is_finite() && *d >= 0.0)) {
        return Err(format!("distances: {0} rows of {0} numbers from 0 on", d.nodes));
    }
    for (name, costs) in [
        ("load", &d.load),
        ("store", &d.store),
        ("cas", &d.cas),
        ("fai", &d.fai),
        ("tas", &d.tas),
        ("swap", &d.swap),
    ] {
        let rows = [
            ("modified", &costs.modified, true),
            ("owned", &costs.owned, false),
            ("exclusive", &costs.exclusive, true),
            ("shared", &costs.shared, true),
            ("invalid", &costs.invalid, name == "load"),
        ];
        for (state, row, needed) in rows {
            let there = row.len() == columns || (!needed && row.is_empty());
            if !there || row.iter().any(|cycles| !(*cycles >= 0.0 && *cycles < 1e9)) {
                return Err(format!("{name}.{state}: {columns} numbers of cycles"));
            }
        }
    }
    let times = [d.scheduler.slice, d.scheduler.switch, d.scheduler.wake];
    if times.iter().any(|time| !(0.0..=10.0).contains(time)) || d.scheduler.slice == 0.0 {
        return Err("scheduler: times in seconds, up to 10, and a slice above 0".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_that_come_along_are_well_described() {
        let threads: Vec<usize> =
            Machine::names().map(|name| Machine::named(name).unwrap().threads()).collect();
        assert_eq!(threads, [48, 80, 64, 36]);
    }

    #[test]
    fn distances_are_the_same_both_ways_and_none_within_a_node() {
        for name in Machine::names() {
            let distances = Machine::named(name).unwrap().description.distances;
            for (a, row) in distances.iter().enumerate() {
                assert_eq!(row[a], 0.0);
                for (b, distance) in row.iter().enumerate() {
                    assert_eq!(*distance, distances[b][a], "{name} {a} {b}");
                }
            }
        }
    }

    #[test]
    fn costs_are_interpolated_between_columns() {
        let (row, at) = ([45.0, 65.0], [1.0, 10.0]);
        assert_eq!(interpolated(&row, &at, 1.0), 45);
        assert_eq!(interpolated(&row, &at, 10.0), 65);
        assert_eq!(interpolated(&row, &at, 5.5), 55);
        assert_eq!(interpolated(&row, &at, 0.0), 45, "not below the first");
        assert_eq!(interpolated(&row, &at, 19.0), 85, "on beyond the last");
        assert_eq!(interpolated(&[7.0], &[0.0], 3.0), 7, "with a single column");
    }

    fn broken(change: impl FnOnce(&mut Description)) -> String {
        let mut description = Machine::named("opteron").unwrap().description;
        change(&mut description);
        Machine::new(description).unwrap_err()
    }

    #[test]
    fn what_is_no_machine_is_refused_with_a_sentence() {
        assert!(broken(|d| d.nodes = 0).contains("nodes"));
        assert!(broken(|d| d.caches_per_node = 1000).contains("at most 256"));
        assert!(broken(|d| d.columns_at[1] = 0.0).contains("ascending"));
        assert!(broken(|d| d.distances[3][2] = f64::NAN).contains("distances"));
        assert!(broken(|d| d.distances.truncate(7)).contains("8 rows"));
        assert!(broken(|d| d.fai.shared.truncate(3)).contains("fai.shared: 4 numbers"));
        assert!(broken(|d| d.load.invalid.clear()).contains("load.invalid"));
        assert!(broken(|d| d.scheduler.slice = 0.0).contains("slice"));
    }

    #[test]
    fn files_that_are_no_descriptions_are_refused() {
        let refused = |text: &str| Machine::parse(text, "file").unwrap_err().to_string();
        assert!(refused("[1").contains("file: not a machine description"));
        assert!(refused("{}").contains("format none"));
        let later = include_str!("../../machines/xeon.json").replace("machine/1", "machine/9");
        assert!(refused(&later).contains("syncline-machine/9"));
        let odd = include_str!("../../machines/xeon.json").replace("\"hertz\"", "\"herz\"");
        assert!(refused(&odd).contains("herz"));
        assert!(Machine::load(Path::new("/nowhere/x")).is_err());
    }
}
