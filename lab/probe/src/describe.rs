//! A measurement as a machine description, which the simulator loads (`docs/machines.md`).
//!
//! The description has a column for each distance between cores. What could not be measured is
//! taken from what is nearest to it, and the measurement's notes say so. The whole measurement
//! comes along in the field `measured`.

use serde_json::{Map, Value, json};
use syncline_sim::machine::{Description, FORMAT};

use crate::case::{ACCESSES, Access, STATES, State, access_name, state_name};
use crate::measurement::{Measurement, must_ask};
use syncline_statistics::{Summary, median};

/// A description of what was measured.
///
/// # Panics
/// Never: what is measured is what a description needs.
pub fn describe(measurement: &Measurement) -> Description {
    let layout = &measurement.layout;
    let columns: Vec<(usize, f64)> = layout.columns().collect();
    let mut description = json!({
        "format": FORMAT,
        "name": "measured",
        "title": measurement.subject.title,
        "source": "measured by `syncline machine`",
        "hertz": measurement.subject.hertz.round(),
        "protocol": measurement.protocol,
        "homes": "first_touch",
        "nodes": layout.nodes(),
        "caches_per_node": layout.cores_of_node(),
        "threads_per_cache": layout.threads_of_core(),
        "columns": names(measurement, &columns),
        "columns_at": if columns.is_empty() { vec![0.0] } else { places(&columns) },
        "distances": layout.distances(),
        "local": local(measurement),
        "levels": levels(measurement),
        "store_buffer": measurement.subject.store_buffer,
        "stays": measurement.stay().map(hundredths).filter(|&share| share > 0.0),
        "under_way": under_way(measurement),
        // By the rule of the built-in machines: three instructions an access, in the one cycle that
        // cores of three instructions and more need for them.
        "instructions": { "cycles": 1, "threads": 1 },
        "reads_take_over": !measurement.taken_over().is_empty(),
        "measured": measurement,
    });
    for access in ACCESSES {
        description[access_name(access)] = costs(measurement, &columns, access);
    }
    serde_json::from_value(description).expect("these are the fields of a description")
}

/// A single core has no distances; its one column is of memory.
fn names<'m>(measurement: &'m Measurement, columns: &[(usize, f64)]) -> Vec<&'m str> {
    match columns {
        [] => vec!["this core"],
        _ => columns.iter().map(|&(class, _)| &*measurement.distances[class].name).collect(),
    }
}

fn whole(cycles: f64) -> u32 {
    cycles.round().max(1.0) as u32
}

fn places(columns: &[(usize, f64)]) -> Vec<f64> {
    columns.iter().map(|&(_, at)| at).collect()
}

fn local(measurement: &Measurement) -> Value {
    let own = |access| measurement.own(access).map(|summary| summary.median);
    let atomics: Vec<f64> = ACCESSES[2..].iter().filter_map(|&access| own(access)).collect();
    let atomic = median(&atomics).unwrap_or(0.0);
    let load = own(Access::Load).unwrap_or(0.0);
    let mut local = json!({ "load": whole(load) });
    // Where caches write through, writing has to go out even if the line is at hand.
    for (name, cycles) in [("store", own(Access::Store).unwrap_or(0.0)), ("atomic", atomic)] {
        if !must_ask(cycles, load) {
            local[name] = json!(whole(cycles));
        }
    }
    local
}

/// The levels of caches whose size and cost are known, each larger and slower than the one before.
/// Nothing if there is but one.
fn levels(measurement: &Measurement) -> Vec<Value> {
    let (caches, found) = (measurement.subject.caches, &measurement.local);
    let own = measurement.own(Access::Load);
    let mut levels: Vec<(usize, u32)> = Vec::new();
    for (bytes, cycles) in
        [(caches.l1, own), (caches.l2, found.l2.as_ref()), (caches.llc, found.llc.as_ref())]
    {
        let Some(cycles) = cycles.map(|summary| whole(summary.median)) else { continue };
        if levels.last().is_none_or(|last| last.0 < bytes && last.1 < cycles) && bytes > 0 {
            levels.push((bytes, cycles));
        }
    }
    if levels.len() < 2 {
        return Vec::new();
    }
    levels.into_iter().map(|(bytes, cycles)| json!({ "bytes": bytes, "cycles": cycles })).collect()
}

/// The rows of an operation.
fn costs(measurement: &Measurement, columns: &[(usize, f64)], access: Access) -> Value {
    let mut rows = Map::new();
    for state in STATES {
        if state != State::Owned || measurement.describes_owned() {
            let cells = columns.iter().map(|&(class, _)| cell(measurement, access, state, class));
            let mut row: Vec<f64> = cells.collect();
            if row.is_empty() {
                row.push(tenths(&measurement.local.memory));
            }
            rows.insert(state_name(state).to_owned(), json!(row));
        }
    }
    if let Some(cycles) = shared_by_all(measurement, access) {
        // Where all share, the nearest and the farthest sharer are the same for everybody.
        let row = vec![cycles; columns.len()];
        rows.insert("shared_by_all".to_owned(), json!(row));
    }
    Value::Object(rows)
}

/// Cycles at a distance. A load of a line that two share needs a third thread; without one, a
/// load of a line that one has takes its place.
fn cell(measurement: &Measurement, access: Access, state: State, class: usize) -> f64 {
    let instead = if state == State::Owned { State::Modified } else { State::Exclusive };
    let cell = |state| measurement.cell(access, state, class);
    cell(state).or_else(|| cell(instead)).map_or(0.0, tenths)
}

/// Cycles where all threads but the one that asks share the line, if the description has all.
fn shared_by_all(measurement: &Measurement, access: Access) -> Option<f64> {
    let others = measurement.subject.processors.len() - 1;
    let mut all = measurement.sharers.iter().filter(|shared| shared.sharers == others);
    let cycles = &all.find(|shared| shared.access == access)?.cycles;
    (measurement.layout.threads() == others + 1).then(|| tenths(cycles))
}

/// How many accesses are under way at once, if more than one is.
fn under_way(measurement: &Measurement) -> Option<usize> {
    measurement.under_way().map(|loads| loads.round() as usize).filter(|&loads| loads > 1)
}

/// A share to a hundredth.
fn hundredths(share: f64) -> f64 {
    (share * 100.0).round() / 100.0
}

/// To a tenth of a cycle: no measurement is more exact.
fn tenths(summary: &Summary) -> f64 {
    (summary.median * 10.0).round() / 10.0
}
