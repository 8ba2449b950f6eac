//! Makes a machine description from a measurement. The simulator loads such descriptions
//! (`docs/machines.md`).
//!
//! The description has a column for each distance between cores. In place of a value that could not
//! be measured, the description has a related one, and the notes of the measurement say so. The
//! field `measured` contains the whole measurement.

use serde_json::{Map, Value, json};
use syncline_sim::machine::{Description, FORMAT};

use crate::case::{ACCESSES, Access, STATES, State, access_name, state_name};
use crate::measurement::{Measurement, must_ask};
use syncline_statistics::{Summary, median};

/// Makes a machine description from a measurement.
///
/// # Panics
/// Never: a measurement has everything that a description needs.
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
        // The rule of the built-in machines: an access has three instructions, which take one cycle
        // on cores that issue three or more instructions in a cycle.
        "instructions": { "cycles": 1, "threads": 1 },
        "reads_take_over": !measurement.taken_over().is_empty(),
        "measured": measurement,
    });
    for access in ACCESSES {
        description[access_name(access)] = costs(measurement, &columns, access);
    }
    serde_json::from_value(description).expect("these are the fields of a description")
}

/// The names of the columns. A single core has no distances, and has one column for its memory.
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
    // Where caches write through, a write goes to other units even if its line is in the cache.
    for (name, cycles) in [("store", own(Access::Store).unwrap_or(0.0)), ("atomic", atomic)] {
        if !must_ask(cycles, load) {
            local[name] = json!(whole(cycles));
        }
    }
    local
}

/// The levels of caches whose size and cost are known. Each level is larger and slower than the one
/// before. The list is empty if there are fewer than two such levels.
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

/// The rows of the description for an operation.
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
        // If all caches share the line, the nearest and the farthest sharer are equally far away
        // for every core.
        let row = vec![cycles; columns.len()];
        rows.insert("shared_by_all".to_owned(), json!(row));
    }
    Value::Object(rows)
}

/// The cycles of an access at this distance. A load of a line that two threads share can be
/// measured only with a third thread. Without a third thread, the result is the cost of a load of a
/// line that one thread has.
fn cell(measurement: &Measurement, access: Access, state: State, class: usize) -> f64 {
    let instead = if state == State::Owned { State::Modified } else { State::Exclusive };
    let cell = |state| measurement.cell(access, state, class);
    cell(state).or_else(|| cell(instead)).map_or(0.0, tenths)
}

/// The cycles of an access by one thread if all other threads share the line. `None` if the
/// description lacks some of the threads, or if this was not measured.
fn shared_by_all(measurement: &Measurement, access: Access) -> Option<f64> {
    let others = measurement.subject.processors.len() - 1;
    let mut all = measurement.sharers.iter().filter(|shared| shared.sharers == others);
    let cycles = &all.find(|shared| shared.access == access)?.cycles;
    (measurement.layout.threads() == others + 1).then(|| tenths(cycles))
}

/// The number of accesses that are under way at the same time; `None` if there is only one.
fn under_way(measurement: &Measurement) -> Option<usize> {
    measurement.under_way().map(|loads| loads.round() as usize).filter(|&loads| loads > 1)
}

/// Rounds a share to a hundredth.
fn hundredths(share: f64) -> f64 {
    (share * 100.0).round() / 100.0
}

/// Rounds to a tenth of a cycle, since no measurement is more exact.
fn tenths(summary: &Summary) -> f64 {
    (summary.median * 10.0).round() / 10.0
}
