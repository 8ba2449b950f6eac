//! Turns the facts into a report: replaces addresses by names, and counts by shares.

use rustc_hash::FxHashMap;
use syncline_trace::Trace;
use syncline_trace::layout::{STOP_CLONE, STOP_FORK, STOP_JUMP, STOP_LIMIT, STOP_UNKNOWN};

use crate::advice::advise;
use crate::conflict::{Cause, Comparison, Field, ratio};
use crate::enough::{ENOUGH, Run, Scarce};
use crate::facts::{Facts, Options};
use crate::lock::LockFacts;
use crate::model::{Data, Line, Lock, NamedCause, Names, Pairs, Report, Site, TooFew};
use crate::section::SiteFacts;
use crate::system_calls;
use crate::touched::{Object, Touched};

/// At most this many causes of conflicts are kept for each lock. More would only be a list of
/// addresses.
const CAUSES: usize = 8;
/// At most this many kinds of data are kept for each lock.
const KINDS: usize = 8;
/// At most this many source lines are kept for each call site.
const LINES: usize = 8;

/// Makes the report of a trace from its facts, which were computed with these options.
pub fn named(trace: &Trace, facts: &Facts, options: &Options, names: &mut dyn Names) -> Report {
    let (all, header) = (&facts.overall, &trace.header);
    let [besides, processor] =
        [header.besides_ticks, header.processor_ticks].map(|ticks| trace.seconds(ticks));
    let program = (processor - all.cost - besides).max(0.0);
    let seconds = trace.seconds(trace.ended().saturating_sub(header.started));
    // The time of which the budget is a share, computed as in the tracing library
    // (`process/budget.rs`).
    let counted = program.min(seconds).max(f64::MIN_POSITIVE);
    let run = Run {
        seconds,
        processor: counted,
        budget: (header.budget_permille > 0).then(|| f64::from(header.budget_permille) / 1000.0),
        counting: besides / counted,
    };
    Report {
        pid: header.pid,
        command: trace.arguments(),
        left_alone: trace.left_alone(),
        acquisitions: all.acquisitions,
        acquisitions_estimated: all.estimated,
        cut_short: all.cut_short,
        traced: all.traced,
        untraced_locks: all.untraced.locks,
        untraced_acquisitions: all.untraced.acquisitions,
        untraced_waited_seconds: all.untraced.waited,
        untraced_longest: all
            .untraced
            .longest
            .map(|(lock, _)| names.variable(lock).unwrap_or_else(|| format!("{lock:#x}"))),
        too_few: too_few(facts, &run, names),
        dropped: header.dropped,
        left_out: trace.left_out,
        thread_seconds: all.thread_seconds,
        cost_seconds: all.cost,
        besides_seconds: besides,
        program_seconds: program,
        budget: run.budget,
        independence: all.independence,
        independence_uncertainty: all.uncertainty,
        weighted_by_instructions: all.by_instructions,
        processors: options.processors,
        processors_busy: all.busy,
        processors_busy_of_15: all.busy_of_15,
        window: options.window,
        locks: facts.locks.iter().map(|l| lock(l, all.thread_seconds, names)).collect(),
    }
}

fn too_few(facts: &Facts, run: &Run, names: &mut dyn Names) -> Vec<TooFew> {
    let one = |scarce: &Scarce| {
        let place = names.place(scarce.site);
        let traced = facts.locks.iter().find(|lock| lock.lock == scarce.lock);
        let lies = traced.and_then(|lock| lies(lock, names));
        let lock = match (scarce.locks, names.variable(scarce.lock).or(lies)) {
            (0 | 1, Some(name)) => format!("{name}, taken at {place}"),
            (0 | 1, None) => format!("the lock taken at {place}"),
            (n, _) => format!("{n} locks taken at {place}"),
        };
        TooFew {
            lock,
            waited_seconds: scarce.waited,
            acquisitions: scarce.acquisitions,
            traced: scarce.traced,
            enough: ENOUGH,
            run_seconds: run.seconds,
            enough_seconds: scarce.seconds(run),
            enough_budget: scarce.budget(run),
        }
    };
    facts.scarce.iter().map(one).collect()
}

/// The position of a lock in a block of the heap; `None` if the lock is in no known block.
fn lies(lock: &LockFacts, names: &mut dyn Names) -> Option<String> {
    let block = lock.block?;
    let (offset, place) = (lock.lock - block.start, names.place(block.site));
    Some(format!("+{offset:#x} of a block of {} bytes from {place}", block.size))
}

fn lock(lock: &LockFacts, thread_seconds: f64, names: &mut dyn Names) -> Lock {
    let causes = lock.causes.iter().take(CAUSES);
    let conflicting = lock.window.conflicting.max(1) as f64;
    let mut data = data(&lock.touched, names);
    let data_kinds = data.len();
    data.truncate(KINDS);
    Lock {
        address: format!("{:#x}", lock.lock),
        name: names.variable(lock.lock),
        lies: lies(lock, names),
        locks: lock.locks,
        acquisitions: lock.acquisitions,
        acquisitions_estimated: lock.estimated,
        contended: lock.contended,
        traced: lock.traced,
        threads: lock.threads,
        held_seconds: lock.held,
        waited_seconds: lock.waited,
        window: pairs(&lock.window),
        contended_pairs: pairs(&lock.waited_for),
        causes: causes.map(|cause| named_cause(cause, conflicting, names)).collect(),
        cause_fields: lock.causes.len(),
        data,
        data_kinds,
        pieces: lock.groups.groups,
        pieces_met_again: lock.groups.met_again,
        largest_piece: lock.groups.largest as f64 / lock.groups.sections.max(1) as f64,
        pieces_without_first_cause: lock.groups_without.groups,
        shared_mode: lock.shared_mode,
        handed_over: lock.handed_over,
        sites: lock.sites.iter().map(|s| site(s, names)).collect(),
        advice: advise(lock, thread_seconds),
    }
}

fn pairs(compared: &Comparison) -> Pairs {
    Pairs {
        pairs: compared.pairs,
        sections: compared.sections,
        conflicting_sections: ratio(compared.conflicting_sections, compared.sections),
        conflicting: compared.share(),
        uncertainty: compared.uncertainty(),
        mean_set_bytes: compared.mean_set_bytes(),
        mean_conflicting_bytes: compared.mean_conflicting_bytes(),
    }
}

/// Adds up the data by name: all words of a variable become one entry.
fn data(touched: &[(Object, Touched)], names: &mut dyn Names) -> Vec<Data> {
    const ELSEWHERE: &str = "memory outside of variables and blocks";
    let all: u64 = touched.iter().map(|(_, touched)| touched.accesses).sum();
    let mut by_name: FxHashMap<String, Touched> = FxHashMap::default();
    for &(object, touched) in touched {
        let name = match object {
            Object::Heap { site, size } => {
                format!("blocks of {size} bytes from {}", names.place(site))
            }
            Object::Fixed { address } => {
                names.whole_variable(address).unwrap_or_else(|| ELSEWHERE.to_owned())
            }
        };
        let sum = by_name.entry(name).or_default();
        *sum = sum.plus(touched);
    }
    let of = |(what, touched): (String, Touched)| Data {
        what,
        blocks: touched.blocks,
        words: touched.words,
        share: ratio(touched.accesses, all),
        written: ratio(touched.written, touched.accesses),
    };
    let mut data: Vec<Data> = by_name.into_iter().map(of).collect();
    data.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.what.cmp(&b.what)));
    data
}

fn named_cause(cause: &Cause, conflicting: f64, names: &mut dyn Names) -> NamedCause {
    let first = u64::from(cause.bytes.trailing_zeros() % 8);
    let field = match cause.field {
        Field::Heap { site, size, offset } => {
            format!("+{:#x} of blocks of {size} bytes from {}", offset + first, names.place(site))
        }
        Field::Fixed { address } => {
            let address = address + first;
            names.variable(address).unwrap_or_else(|| format!("{address:#x}"))
        }
    };
    let mut line = |address: u64| (address != 0).then(|| names.line(address));
    NamedCause {
        field,
        share: cause.pairs as f64 / conflicting,
        alone: cause.alone as f64 / conflicting,
        read_at: line(cause.reader),
        written_at: line(cause.writer),
    }
}

fn site(site: &SiteFacts, names: &mut dyn Names) -> Site {
    let of_all = |n: u64| n as f64 / site.total_instructions.max(1) as f64;
    Site {
        place: names.place(site.site),
        acquisitions: site.acquisitions,
        traced: site.traced,
        instructions: site.instructions,
        memory_share: site.memory_share,
        outside_share: of_all(site.outside_instructions),
        shared_share: of_all(site.shared_instructions),
        words: site.words,
        words_read: site.words_read,
        words_written: site.words_written,
        words_shared: site.words_shared,
        bytes: site.bytes,
        allocating: site.allocating,
        doing_io: site.doing_io,
        stopped: site.stopped,
        stops: site.stops.iter().map(|(&why, &n)| (why_stopped(why).to_owned(), n)).collect(),
        total_instructions: site.total_instructions,
        system_calls: site.system_calls.iter().map(|(&n, &s)| (system_calls::name(n), s)).collect(),
        unshared_lines: unshared_lines(site, names),
    }
}

/// The reason with this code why tracing stopped in a section, as text.
fn why_stopped(why: u32) -> &'static str {
    match why {
        STOP_FORK => "a fork",
        STOP_JUMP => "a jump out of the section",
        STOP_LIMIT => "too many instructions or too much data",
        STOP_CLONE => "a new thread",
        STOP_UNKNOWN => "an instruction that is not known",
        _ => "something that can't be followed",
    }
}

/// The source lines of a call site's sections of which no instruction may have touched shared data.
fn unshared_lines(site: &SiteFacts, names: &mut dyn Names) -> Vec<Line> {
    let mut lines: FxHashMap<String, (u64, bool)> = FxHashMap::default();
    for step in &site.steps {
        let line = lines.entry(names.line(step.address)).or_default();
        line.0 += step.times;
        line.1 |= step.shared;
    }
    let unshared = lines.into_iter().filter(|(_, (_, shared))| !shared);
    let of_all = |n: u64| n as f64 / site.total_instructions.max(1) as f64;
    let mut lines: Vec<Line> =
        unshared.map(|(place, (times, _))| Line { place, share: of_all(times) }).collect();
    lines.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.place.cmp(&b.place)));
    lines.truncate(LINES);
    lines
}
