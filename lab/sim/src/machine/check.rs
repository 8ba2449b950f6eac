//! Checks whether a machine can have a description. If not, a sentence says why; it begins with the
//! name of the field that is wrong.

use super::description::{Costs, Description, Instructions, LINE, MOST_THREADS, Protocol};
use crate::caches::MOST_CACHES;

/// The limit of costs, in cycles: numbers from here on count as typing errors.
const MOST_CYCLES: f64 = 1e9;

/// The greatest distance, and the greatest value in `columns_at`.
const FARTHEST: f64 = 1e6;

/// Checks that a machine can have this description.
///
/// # Errors
/// If no machine can have it. The error is a sentence that says what is wrong.
pub fn check(d: &Description) -> Result<(), String> {
    counts(d)?;
    distances(d)?;
    tables(d)?;
    cores(d)?;
    extras(d)
}

/// The largest size, in bytes, of one of a core's own levels of caches. There is a limit since the
/// simulator allocates an element for each line.
const MOST_BYTES: usize = 16 << 20;
/// The most levels of caches.
const MOST_LEVELS: usize = 4;
/// The most stores that a buffer may hold; real buffers hold a hundred at most.
const MOST_STORES: usize = 1024;
/// The most accesses that may be under way at the same time; real cores have a few dozen at most.
const MOST_UNDER_WAY: usize = 1024;

fn cores(d: &Description) -> Result<(), String> {
    let ascending =
        d.levels.windows(2).all(|l| l[0].bytes < l[1].bytes && l[0].cycles < l[1].cycles);
    let own = d.levels.len().saturating_sub(1);
    let sound = d.levels[..own].iter().all(|level| (LINE..=MOST_BYTES).contains(&level.bytes))
        && d.levels.iter().all(|level| f64::from(level.cycles) < MOST_CYCLES);
    let near = d.levels.first().is_none_or(|level| level.cycles == d.local.load);
    if !ascending || !sound || !near || d.levels.len() > MOST_LEVELS {
        return Err(format!(
            "levels: must be {MOST_LEVELS} at most, each larger and slower than the one before and \
             below {MOST_CYCLES} cycles, the first as slow as local.load, and all but the last \
             from {LINE} to {MOST_BYTES} bytes"
        ));
    }
    if d.protocol == Protocol::Uncached && !d.levels.is_empty() {
        return Err("levels: there are no caches where protocol is uncached".to_owned());
    }
    if d.stays.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
        return Err("stays: must be a share, from 0 to 1".to_owned());
    }
    match d.under_way {
        Some(_) if d.protocol == Protocol::Uncached => {
            return Err("under_way: not simulated where protocol is uncached".to_owned());
        }
        Some(accesses) if !(1..=MOST_UNDER_WAY).contains(&accesses) => {
            return Err(format!("under_way: must be from 1 to {MOST_UNDER_WAY} accesses"));
        }
        _ => {}
    }
    match d.store_buffer {
        Some(_) if d.protocol == Protocol::Uncached => {
            return Err("store_buffer: not simulated where protocol is uncached".to_owned());
        }
        Some(stores) if !(1..=MOST_STORES).contains(&stores) => {
            return Err(format!("store_buffer: must be from 1 to {MOST_STORES} stores"));
        }
        _ => {}
    }
    let counted = |i: &Instructions| (0.0..=1e6).contains(&i.cycles) && i.threads > 0;
    match &d.instructions {
        Some(instructions) if !counted(instructions) => {
            Err("instructions: must be up to 1e6 cycles, and 1 thread at least".to_owned())
        }
        _ => Ok(()),
    }
}

fn counts(d: &Description) -> Result<(), String> {
    if d.name.is_empty() {
        return Err("name: must not be empty".to_owned());
    }
    let counts = [
        (d.nodes, "nodes"),
        (d.caches_per_node, "caches_per_node"),
        (d.threads_per_cache, "threads_per_cache"),
    ];
    if let Some((_, what)) = counts.iter().find(|(count, _)| *count == 0) {
        return Err(format!("{what}: must be 1 at least"));
    }
    let caches = d.nodes.saturating_mul(d.caches_per_node);
    if caches > MOST_CACHES {
        return Err(format!(
            "nodes: {caches} caches in all, but at most {MOST_CACHES} can be simulated"
        ));
    }
    let threads = caches.saturating_mul(d.threads_per_cache);
    if threads > MOST_THREADS {
        return Err(format!(
            "threads_per_cache: {threads} threads in all, but at most {MOST_THREADS} can be simulated"
        ));
    }
    if !(1e6..=1e12).contains(&d.hertz) {
        return Err("hertz: must be from 1e6 to 1e12".to_owned());
    }
    if let Some(node) = d.memories.iter().find(|&&node| node >= d.nodes) {
        return Err(format!("memories: there is no node {node}"));
    }
    if ![0, d.nodes].contains(&d.sockets.len()) || d.sockets.iter().any(|&s| s >= d.nodes) {
        return Err(format!("sockets: must be one for each of {} nodes, numbered from 0", d.nodes));
    }
    Ok(())
}

fn distances(d: &Description) -> Result<(), String> {
    let ascending = d.columns_at.windows(2).all(|pair| pair[0] < pair[1]);
    let sound = d.columns_at.iter().all(|at| (0.0..=FARTHEST).contains(at));
    if d.columns_at.is_empty() || d.columns_at.len() != d.columns.len() || !ascending || !sound {
        return Err("columns_at: must be one distance for each of columns, ascending".to_owned());
    }
    let square = d.distances.len() == d.nodes && d.distances.iter().all(|r| r.len() == d.nodes);
    if !square || d.distances.iter().flatten().any(|d| !(0.0..=FARTHEST).contains(d)) {
        return Err(format!("distances: must be {0} rows of {0} numbers from 0 on", d.nodes));
    }
    for (a, row) in d.distances.iter().enumerate() {
        if row[a] != 0.0 {
            return Err(format!("distances: from node {a} to itself it must be 0"));
        }
        if let Some(b) = (0..d.nodes).find(|&b| row[b] != d.distances[b][a]) {
            let back = d.distances[b][a];
            return Err(format!(
                "distances: {} from node {a} to {b}, and {back} back; they must be the same",
                row[b]
            ));
        }
    }
    Ok(())
}

/// The rows that a table of a description must have.
#[derive(Clone, Copy, PartialEq)]
enum Needs {
    /// All rows except `owned`, `shared_by_all` and `invalid`.
    Held,
    /// The rows of `Held`, and `invalid`.
    All,
    /// Only `invalid`.
    Invalid,
    /// No rows: the table must be empty.
    Nothing,
}

fn tables(d: &Description) -> Result<(), String> {
    let uncached = d.protocol == Protocol::Uncached;
    let needs = |cached, otherwise| if uncached { otherwise } else { cached };
    for (name, costs, needs) in [
        ("load", &d.load, needs(Needs::All, Needs::Invalid)),
        ("store", &d.store, needs(Needs::Held, Needs::Invalid)),
        ("cas", &d.cas, needs(Needs::Held, Needs::Nothing)),
        ("fai", &d.fai, needs(Needs::Held, Needs::Nothing)),
        ("tas", &d.tas, needs(Needs::Held, Needs::Invalid)),
        ("swap", &d.swap, needs(Needs::Held, Needs::Nothing)),
    ] {
        table(name, costs, needs, d.columns.len())?;
    }
    Ok(())
}

fn table(name: &str, costs: &Costs, needs: Needs, columns: usize) -> Result<(), String> {
    let held = matches!(needs, Needs::Held | Needs::All);
    let invalid = matches!(needs, Needs::Invalid | Needs::All);
    for (state, row, needed, allowed) in [
        ("modified", &costs.modified, held, held),
        ("owned", &costs.owned, false, held),
        ("exclusive", &costs.exclusive, held, held),
        ("shared", &costs.shared, held, held),
        ("shared_by_all", &costs.shared_by_all, false, held),
        ("invalid", &costs.invalid, invalid, needs != Needs::Nothing),
    ] {
        if row.is_empty() && !needed {
            continue;
        }
        if !allowed {
            return Err(format!("{name}.{state}: must be absent, since there are no caches"));
        }
        let cycles = row.iter().all(|cycles| (0.0..MOST_CYCLES).contains(cycles));
        if row.len() != columns || !cycles {
            return Err(format!(
                "{name}.{state}: must be {columns} numbers of cycles, one for each column"
            ));
        }
    }
    Ok(())
}

fn extras(d: &Description) -> Result<(), String> {
    let s = &d.scheduler;
    let times = [s.slice, s.switch, s.wake, s.near, s.far];
    let least = s.slice.min(s.near).min(s.far);
    if times.iter().any(|time| !(0.0..=10.0).contains(time)) || least < 1e-7 {
        let what = "scheduler: must be in seconds, up to 10; slice, near and far at least 1e-7";
        return Err(what.to_owned());
    }
    if !(1.0..=100.0).contains(&s.imbalance) {
        return Err("scheduler: imbalance must be from 1 to 100".to_owned());
    }
    let cycles = |cycles: &[f64]| cycles.iter().all(|cycles| (0.0..MOST_CYCLES).contains(cycles));
    match (d.protocol, &d.busy) {
        (Protocol::Uncached, None) => {
            return Err("busy: must be there, since protocol is uncached".to_owned());
        }
        (Protocol::Uncached, Some(busy)) if !cycles(&[busy.memory, busy.register]) => {
            return Err("busy: must be numbers of cycles".to_owned());
        }
        (Protocol::Uncached, _) | (_, None) => {}
        (_, Some(_)) => return Err("busy: is allowed only where protocol is uncached".to_owned()),
    }
    if let Some(m) = &d.messages
        && !(cycles(&[m.send, m.receive, m.word, m.hop]) && (1..=1 << 20).contains(&m.room))
    {
        return Err("messages: must be numbers of cycles, and room for 1 word at least".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Level, Machine};
    use super::*;

    #[track_caller]
    fn refused(name: &str, change: impl FnOnce(&mut Description), why: &str) {
        let mut description = Machine::named(name).unwrap().description;
        change(&mut description);
        let error = Machine::new(description).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn impossible_counts_are_refused() {
        refused("opteron", |d| d.name.clear(), "name: must not be empty");
        refused("opteron", |d| d.nodes = 0, "nodes: must be 1 at least");
        refused("opteron", |d| d.caches_per_node = 0, "caches_per_node: must be 1");
        refused("opteron", |d| d.threads_per_cache = 0, "threads_per_cache: must be 1");
        refused("opteron", |d| d.caches_per_node = 1000, "at most 256");
        refused("opteron", |d| d.caches_per_node = usize::MAX, "at most 256");
        refused("opteron", |d| d.threads_per_cache = 1 << 40, "at most 4096");
        refused("opteron", |d| d.hertz = f64::INFINITY, "hertz");
        refused("scc", |d| d.memories.push(24), "memories: there is no node 24");
        refused("zen4", |d| d.sockets.truncate(15), "sockets: must be one for each of 16 nodes");
        refused("zen4", |d| d.sockets[15] = 16, "sockets: must be one for each of 16 nodes");
    }

    #[test]
    fn inconsistent_distances_are_refused() {
        refused("opteron", |d| d.columns_at[1] = 0.0, "columns_at");
        refused("opteron", |d| d.columns_at[3] = f64::INFINITY, "columns_at");
        refused("opteron", |d| d.distances[3][2] = f64::NAN, "distances: must be 8 rows");
        refused("opteron", |d| d.distances.truncate(7), "distances: must be 8 rows");
        refused("opteron", |d| d.distances[3][2] = 7.0, "1 from node 2 to 3, and 7 back");
        refused("opteron", |d| d.distances[3][3] = 1.0, "from node 3 to itself");
    }

    #[test]
    fn incomplete_tables_are_refused() {
        refused("opteron", |d| d.fai.shared.truncate(3), "fai.shared: must be 4 numbers");
        refused("opteron", |d| d.cas = Costs::default(), "cas.modified: must be 4 numbers");
        refused("opteron", |d| d.load.invalid.clear(), "load.invalid");
        refused("opteron", |d| d.store.owned[0] = -1.0, "store.owned");
        refused("scc", |d| d.store.invalid.clear(), "store.invalid");
        refused("scc", |d| d.load.shared = vec![1.0; 3], "load.shared: must be absent");
        refused("scc", |d| d.swap.invalid = vec![1.0; 3], "swap.invalid: must be absent");
    }

    #[test]
    fn impossible_cores_are_refused() {
        refused("opteron", |d| d.levels[0].cycles = 4, "levels: must be 4 at most");
        refused("opteron", |d| d.levels[1].bytes = 1 << 40, "levels: must be 4 at most");
        refused("opteron", |d| d.levels[0].bytes = 63, "but the last from 64 to 16777216 bytes");
        refused("opteron", |d| d.levels[2].cycles = 1_000_000_000, "below 1000000000 cycles");
        refused("opteron", |d| d.stays = Some(1.1), "stays: must be a share");
        refused("opteron", |d| d.stays = Some(f64::NAN), "stays: must be a share");
        refused("opteron", |d| d.under_way = Some(0), "under_way: must be from 1");
        refused("opteron", |d| d.under_way = Some(1 << 40), "under_way: must be from 1");
        refused("scc", |d| d.under_way = Some(2), "under_way: not simulated");
        refused("opteron", |d| d.store_buffer = Some(0), "store_buffer: must be from 1");
        refused("opteron", |d| d.store_buffer = Some(1 << 40), "store_buffer: must be from 1");
        refused("scc", |d| d.store_buffer = Some(1), "store_buffer: not simulated");
        refused("opteron", |d| d.levels.swap(1, 2), "levels: must be 4 at most");
        refused("scc", |d| d.levels.push(Level { bytes: 64, cycles: 1 }), "levels: there are no");
        refused("xeon", |d| d.instructions.as_mut().unwrap().threads = 0, "instructions");
        refused("xeon", |d| d.instructions.as_mut().unwrap().cycles = f64::NAN, "instructions");
    }

    #[test]
    fn unsuitable_extras_are_refused() {
        refused("opteron", |d| d.scheduler.slice = 0.0, "slice");
        refused("opteron", |d| d.scheduler.wake = f64::NAN, "scheduler");
        refused("opteron", |d| d.scheduler.near = 0.0, "near");
        refused("opteron", |d| d.scheduler.imbalance = 0.5, "imbalance");
        refused("scc", |d| d.busy = None, "busy: must be there");
        refused("scc", |d| d.busy.as_mut().unwrap().memory = -1.0, "busy: must be numbers");
        refused(
            "opteron",
            |d| d.busy = Machine::named("scc").unwrap().description.busy,
            "busy: is allowed only",
        );
        refused("tilera", |d| d.messages.as_mut().unwrap().room = 0, "messages");
    }
}
