//! The report on the kernel's locks in a recorded run, as rows of lock classes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;
use syncline_conflicts::{Facts, Field, LockFacts, Options, facts_by};
use syncline_kernel_follow::role::Kind;
use syncline_trace::Trace;
use syncline_trace::layout::ObjectRecord;

use crate::classes::Classes;

/// A class of locks.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name of the class, such as `dentry.d_lockref.lock`.
    pub class: String,
    /// How many locks of the class were taken.
    pub locks: usize,
    /// Acquisitions of the class.
    pub acquisitions: u64,
    /// How many of these acquisitions had to wait.
    pub contended: u64,
    /// Pairs of a section that waited and a section that it waited for.
    pub contended_pairs: u64,
    /// Of the sections that waited and could be compared, the share that conflicts with a section
    /// that it waited for.
    pub contended_conflicts: f64,
    /// Average size in bytes of the address set of the section that waited, over the pairs of
    /// `contended_pairs` that conflict.
    pub contended_set: f64,
    /// Average number of conflicting bytes of a conflicting pair of a section that waited and a
    /// section that it waited for.
    pub contended_bytes: f64,
    /// Pairs of a section and a previous section of the same lock that another thread executed. Two
    /// readers' sections don't count as a pair.
    pub pairs: u64,
    /// The share of these pairs that conflicts.
    pub conflicts: f64,
    /// Of the sections with such a pair, the share that conflicts with at least one (the paper's
    /// measure).
    pub sections_conflicting: f64,
    /// Average number of conflicting bytes of a conflicting pair.
    pub bytes: f64,
    /// The conflicting bytes as a share of the address set.
    pub of_set: f64,
    /// Total time for which the locks were held, in instructions.
    pub held: u64,
    /// Total time that was spent waiting, in instructions.
    pub waited: u64,
    /// Sections that were ended by a task other than the one that began them.
    pub handed_over: u64,
    /// The cause of most conflicts, with its share of the conflicting pairs.
    pub cause: Option<(String, f64)>,
    /// The call sites with the most acquisitions, each with its number of acquisitions.
    pub sites: Vec<(String, u64)>,
}

/// The report on a recorded run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The classes, in descending order of the time that they were held.
    pub rows: Vec<Row>,
    /// Acquisitions of all classes.
    pub acquisitions: u64,
    /// How many of these acquisitions had to wait.
    pub contended: u64,
    /// Number of locks.
    pub locks: usize,
    /// Mean share of independent pairs over the locks, each weighted by the total time for which it
    /// was held; `None` if no pair was compared, or only pairs of locks with weight 0.
    pub independence: Option<f64>,
    /// The number of the guest's processors that this independence can keep busy.
    pub busy: Option<f64>,
    /// How many of the 15 processors of Syncchar's machine this independence can keep busy.
    pub busy_of_15: Option<f64>,
    /// Sections that were left out because there was no memory for them when the trace was read.
    pub left_out: u64,
    /// The most earlier sections of its lock with which each section was compared.
    pub window: usize,
}

/// The most call sites in a row.
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
            let is_bit = record.op >> 8 == Kind::Bit(0).bytes();
            let name = if is_bit { Classes::bit } else { Classes::lock };
            let name = name(classes, record.lock, object).unwrap_or_else(unknown);
            match object.filter(|_| name.starts_with("kmalloc")) {
                // These caches have objects of all kinds.
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
