//! What a recorded run says of the kernel's locks, as rows of lock classes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;
use syncline_conflicts::{Facts, Field, LockFacts, Options, facts_by};
use syncline_trace::Trace;
use syncline_trace::layout::ObjectRecord;

use crate::classes::Classes;

/// A class of locks.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What it is: `dentry.d_lockref.lock`.
    pub class: String,
    /// How many locks of it were taken.
    pub locks: usize,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Of those, how many had to wait.
    pub contended: u64,
    /// Pairs of a section that waited with one that it waited for.
    pub contended_pairs: u64,
    /// Of the sections that waited and could be compared, the share that conflicts with one that it
    /// waited for.
    pub contended_conflicts: f64,
    /// Bytes in the address set of a conflicting section that waited, on average.
    pub contended_set: f64,
    /// Bytes that conflict, on average.
    pub contended_bytes: f64,
    /// Pairs of a section with one of the last ones of its lock.
    pub pairs: u64,
    /// Of those, the share that conflicts.
    pub conflicts: f64,
    /// Of the sections with such a pair, the share that conflicts with any, which is the paper's.
    pub sections_conflicting: f64,
    /// Bytes that conflict, on average.
    pub bytes: f64,
    /// The conflicting bytes as a share of the address set.
    pub of_set: f64,
    /// Instructions that the locks were held, together.
    pub held: u64,
    /// Instructions that were spent waiting.
    pub waited: u64,
    /// Sections that were ended by another task than began them.
    pub handed_over: u64,
    /// What most pairs conflict on, with the share of the conflicting pairs.
    pub cause: Option<(String, f64)>,
    /// The call sites that take it most, with acquisitions.
    pub sites: Vec<(String, u64)>,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The classes, those that were held longest first.
    pub rows: Vec<Row>,
    /// Acquisitions of all.
    pub acquisitions: u64,
    /// Of those, how many had to wait.
    pub contended: u64,
    /// Locks.
    pub locks: usize,
    /// Mean share of independent pairs, weighted by the time held; `None` if no pair was compared.
    pub independence: Option<f64>,
    /// Processors that this keeps busy, of those of the guest.
    pub busy: Option<f64>,
    /// Processors that this keeps busy of the 15 of Syncchar's machine.
    pub busy_of_15: Option<f64>,
    /// Sections that found no memory when the trace was read.
    pub left_out: u64,
    /// Earlier sections that each was compared with.
    pub window: usize,
}

/// Call sites that a row keeps.
const SITES: usize = 8;

/// Makes the report.
pub fn report(
    trace: &Trace,
    classes: &Classes,
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> Report {
    let names = names(trace, classes);
    let family = |lock: u64| {
        names.get(&lock).map(|name| {
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            hasher.finish()
        })
    };
    let facts = facts_by(trace, options, &family, progress);
    let rows: Vec<Row> = facts.locks.iter().map(|lock| row(lock, &names, classes)).collect();
    summed(&facts, rows, trace, options)
}

fn summed(facts: &Facts, rows: Vec<Row>, trace: &Trace, options: &Options) -> Report {
    Report {
        acquisitions: rows.iter().map(|row| row.acquisitions).sum(),
        contended: rows.iter().map(|row| row.contended).sum(),
        locks: rows.iter().map(|row| row.locks).sum(),
        independence: facts.overall.independence,
        busy: facts.overall.busy,
        busy_of_15: facts.overall.busy_of_15,
        left_out: trace.left_out,
        window: options.window,
        rows,
    }
}

/// The class of each lock of a trace.
fn names(trace: &Trace, classes: &Classes) -> HashMap<u64, String> {
    let mut names: HashMap<u64, String> = HashMap::new();
    for section in &trace.sections {
        let record = &section.record;
        names.entry(record.lock).or_insert_with(|| {
            let inside = |object: &&ObjectRecord| {
                (object.start..object.start + object.size).contains(&record.lock)
            };
            let object = section.objects.iter().find(inside);
            let unknown = || {
                let function = classes.function(record.site);
                let function = function.split('+').next().unwrap_or_default();
                format!("a lock taken in {function}")
            };
            let name = classes.lock(record.lock, object).unwrap_or_else(unknown);
            match object.filter(|_| name.starts_with("kmalloc")) {
                // Objects of all kinds lie in these caches.
                Some(_) => format!("{name}, taken in {}", taken_in(classes, record.site)),
                None => name,
            }
        });
    }
    names
}

fn taken_in(classes: &Classes, site: u64) -> String {
    classes.function(site).split('+').next().unwrap_or_default().to_owned()
}

fn row(lock: &LockFacts, names: &HashMap<u64, String>, classes: &Classes) -> Row {
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let (window, waited_for) = (&lock.window, &lock.waited_for);
    let set = window.mean_set_bytes();
    let ticks = |seconds: f64| (seconds * 1e9) as u64;
    let mut sites: Vec<(String, u64)> =
        lock.sites.iter().map(|site| (classes.function(site.site), site.acquisitions)).collect();
    sites.truncate(SITES);
    let cause = lock.causes.first().map(|cause| {
        let first = u64::from(cause.bytes.trailing_zeros() % 8);
        let name = match cause.field {
            Field::Heap { site, offset, .. } => classes.field(site, offset + first),
            Field::Fixed { address } => classes
                .class(address + first, None)
                .unwrap_or_else(|| format!("{:#x}", address + first)),
        };
        (name, share(cause.pairs, window.conflicting))
    });
    Row {
        class: names.get(&lock.lock).cloned().unwrap_or_else(|| format!("{:#x}", lock.lock)),
        locks: lock.locks,
        acquisitions: lock.acquisitions,
        contended: lock.contended,
        contended_pairs: waited_for.pairs,
        contended_conflicts: share(waited_for.conflicting_sections, waited_for.sections),
        contended_set: waited_for.mean_set_bytes(),
        contended_bytes: waited_for.mean_conflicting_bytes(),
        pairs: window.pairs,
        conflicts: window.share(),
        sections_conflicting: share(window.conflicting_sections, window.sections),
        bytes: window.mean_conflicting_bytes(),
        of_set: if set > 0.0 { window.mean_conflicting_bytes() / set } else { 0.0 },
        held: ticks(lock.held),
        waited: ticks(lock.waited),
        handed_over: lock.handed_over,
        cause,
        sites,
    }
}
