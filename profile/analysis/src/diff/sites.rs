//! Compares the call sites of two recordings.

use std::collections::BTreeMap;

use serde::Serialize;
use syncline_recording::Op;

use super::place::Place;
use crate::model::{Figures, Kind, Process};

/// A call site, which is an operation in a function, before and after a change of the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteChange {
    /// The operation.
    pub op: Op,
    /// What waiting there means.
    pub kind: Kind,
    /// The function, demangled.
    pub function: String,
    /// The file's name without its folders, if it is known.
    pub file: Option<String>,
    /// The line with most waiting after the change, or before it if the call site is gone.
    pub line: Option<u32>,
    /// The figures before; `None` if the first recording lacks the call site.
    pub before: Option<Rates>,
    /// The figures after; `None` if the second recording lacks the call site.
    pub after: Option<Rates>,
}

/// A site's figures per second of run time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Seconds waited.
    pub waited: f64,
    /// Seconds held, an estimate.
    pub held: f64,
    /// Calls that succeeded, as [`Figures::calls`].
    pub calls: f64,
    /// Calls that had to wait.
    pub waits: f64,
}

impl SiteChange {
    /// How many more seconds are waited in each second of run time after the change; negative if
    /// fewer.
    pub fn waited(&self) -> f64 {
        self.difference(|rates| rates.waited)
    }

    fn difference(&self, of: fn(&Rates) -> f64) -> f64 {
        let of = |rates: &Option<Rates>| rates.as_ref().map_or(0.0, of);
        of(&self.after) - of(&self.before)
    }
}

/// Compares the call sites of two processes. Locks come before futexes and events. Within each
/// kind, the call site whose waiting has changed most comes first, whether it grew or shrank; if
/// these changes are equal, the change of holding decides, and then that of calls.
pub fn changes(before: &Process, after: &Process) -> Vec<SiteChange> {
    let mut before = rates(before);
    let mut changes = Vec::new();
    for (key, (line, rates)) in rates(after) {
        let earlier = before.remove(&key).map(|(_, rates)| rates);
        changes.push(change(key, line, earlier, Some(rates)));
    }
    let gone = before.into_iter().map(|(key, (line, rates))| change(key, line, Some(rates), None));
    changes.extend(gone);
    changes.sort_by(|a, b| {
        let by = |of: fn(&Rates) -> f64| b.difference(of).abs().total_cmp(&a.difference(of).abs());
        a.kind
            .cmp(&b.kind)
            .then_with(|| by(|rates| rates.waited))
            .then_with(|| by(|rates| rates.held))
            .then_with(|| by(|rates| rates.calls))
    });
    changes
}

/// An amount per second of the run.
pub fn per_second(sum: f64, process: &Process) -> f64 {
    if process.seconds > 0.0 { sum / process.seconds } else { 0.0 }
}

type Key = (Op, Place);

/// The figures of each call site, and the line with most waiting.
fn rates(process: &Process) -> BTreeMap<Key, (Option<u32>, Rates)> {
    let mut sums: BTreeMap<Key, (Option<u32>, Rates)> = BTreeMap::new();
    for site in &process.sites {
        let Some(frame) = site.frame.map(|frame| &process.frames[frame]) else { continue };
        let Figures { waited, held, calls, waits, .. } = site.figures;
        // Sites are in the order of their waiting: the first gives the line.
        let entry = sums.entry((site.op, Place::of(frame, process)));
        let (_, sum) = entry.or_insert((frame.line, Rates::default()));
        sum.waited += per_second(waited, process);
        sum.held += per_second(held, process);
        sum.calls += per_second(calls as f64, process);
        sum.waits += per_second(waits as f64, process);
    }
    sums
}

fn change(
    (op, place): Key,
    line: Option<u32>,
    before: Option<Rates>,
    after: Option<Rates>,
) -> SiteChange {
    let Place { function, file } = place;
    SiteChange { op, kind: Kind::of(op.primitive()), function, file, line, before, after }
}
