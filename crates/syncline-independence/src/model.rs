//! What a trace says, with names: plain data that is shown, or serialized as it is.

use rustc_hash::FxHashMap;
use serde::Serialize;
use syncline_trace::Trace;
use syncline_trace::layout::{STOP_CLONE, STOP_FORK, STOP_JUMP, STOP_LIMIT, STOP_UNKNOWN};

use crate::advice::{Proposal, advise};
use crate::conflict::{Cause, Comparison, Field, ratio};
use crate::enough::{Run, Scarce};
use crate::facts::{Facts, LockFacts};
use crate::section::{Distribution, SiteFacts};
use crate::system_calls;
use crate::touched::{Object, Touched};

/// The name and version of the JSON document. The number changes when a field is removed, or
/// changes its meaning; new fields may come at any time.
pub const SCHEMA: &str = "syncline-inspect/1";
/// Causes of conflicts that are kept: what comes behind is a list of addresses.
const CAUSES: usize = 8;
/// Kinds of data that are kept for each lock.
const KINDS: usize = 8;
/// Lines that are kept for each call site.
const LINES: usize = 8;

/// What addresses mean.
pub trait Names {
    /// The place of a call, by its return address: `push  queue.c:120`.
    fn place(&mut self, return_address: u64) -> String;
    /// The source line of an instruction: `queue.c:120`; its function where lines are not known.
    fn line(&mut self, instruction: u64) -> String;
    /// The global variable that an address lies in: `name+0x8 (binary)`.
    fn variable(&mut self, address: u64) -> Option<String>;
    /// The same without the place in it: `name (binary)`.
    fn whole_variable(&mut self, address: u64) -> Option<String>;
}

/// One process.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Process number.
    pub pid: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Why it was left alone; none if it was traced.
    pub left_alone: Option<String>,
    /// Acquisitions of the locks of which sections were traced.
    pub acquisitions: u64,
    /// Whether a part of them is an estimate: within a budget, not all that come often are counted.
    pub acquisitions_estimated: bool,
    /// Whether the process was killed or still ran, so that it could not say what it had counted last:
    /// acquisitions, and how many of them waited, are at least so many.
    pub cut_short: bool,
    /// Sections traced.
    pub traced: u64,
    /// Locks of which no section was traced, since the sample had none or they were not asked for.
    pub untraced_locks: u64,
    /// Their acquisitions.
    pub untraced_acquisitions: u64,
    /// Seconds that threads waited for them.
    pub untraced_waited_seconds: f64,
    /// The one of them that was waited for longest: its name, or its address; none if none was.
    pub untraced_longest: Option<String>,
    /// Locks of the three most waited for of which too few sections were traced, most waited for first.
    pub too_few: Vec<TooFew>,
    /// Records that found no room in the trace.
    pub dropped: u64,
    /// Sections of the trace that were not looked at, since they would have taken too much memory.
    pub left_out: u64,
    /// Seconds that threads ran, together.
    pub thread_seconds: f64,
    /// Seconds of processor time that tracing cost, over all threads.
    pub cost_seconds: f64,
    /// Seconds that inspecting cost besides, by an estimate: its start, its threads, and what it
    /// only counted.
    pub besides_seconds: f64,
    /// Seconds of processor time of the program itself, without these two.
    pub program_seconds: f64,
    /// What inspecting was to take of that at most, as a share; none if there was no limit.
    pub budget: Option<f64>,
    /// Mean share of independent pairs, weighted by the time that the locks were held; none if
    /// no pair was compared.
    pub independence: Option<f64>,
    /// What sampling leaves open of it, in 19 of 20 cases.
    pub independence_uncertainty: f64,
    /// Whether the weights are instructions in place of time.
    pub weighted_by_instructions: bool,
    /// Processors that the program could use.
    pub processors: usize,
    /// Processors of them that optimistic sections of this independence could keep busy.
    pub processors_busy: Option<f64>,
    /// The same of 15 processors.
    pub processors_busy_of_15: Option<f64>,
    /// Earlier sections that each was compared with.
    pub window: usize,
    /// The locks, those that were held longest first.
    pub locks: Vec<Lock>,
}

impl Report {
    /// By how much inspecting has slowed the program down, as a share of its own processor time;
    /// none if that is not known.
    pub fn slowdown(&self) -> Option<f64> {
        let cost = self.cost_seconds + self.besides_seconds;
        (self.program_seconds > 0.0).then(|| cost / self.program_seconds)
    }
}

/// A lock that much is waited for, of which too few sections were traced.
#[derive(Clone, Debug, Serialize)]
pub struct TooFew {
    /// What it is: its name, or where it lies, and where it is taken.
    pub lock: String,
    /// Seconds that threads waited for it.
    pub waited_seconds: f64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Of those, how many were traced.
    pub traced: u64,
    /// How many are enough.
    pub enough: u64,
    /// Seconds that this run took.
    pub run_seconds: f64,
    /// About how many seconds a run like this one would have to take to have enough within this budget.
    pub enough_seconds: f64,
    /// About which budget would have given this run enough, as a share; none if it has too few
    /// acquisitions for any.
    pub enough_budget: Option<f64>,
}

/// Pairs of sections, compared.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pairs {
    /// Pairs compared.
    pub pairs: u64,
    /// Sections that were compared with any other.
    pub sections: u64,
    /// Of those, the share that conflicts with at least one.
    pub conflicting_sections: f64,
    /// The share of pairs that conflict.
    pub conflicting: f64,
    /// What sampling leaves open: the share is known to this much, more or less, in 19 of 20
    /// cases.
    pub uncertainty: f64,
    /// Bytes in the address set of a section that conflicts, on average.
    pub mean_set_bytes: f64,
    /// Bytes that conflict in a pair that does, on average.
    pub mean_conflicting_bytes: f64,
}

/// A lock, or several that are acquired at one place.
#[derive(Clone, Debug, Serialize)]
pub struct Lock {
    /// Its address; that of the first, if there are several.
    pub address: String,
    /// Its name, if it is a global variable; of several, that of the first.
    pub name: Option<String>,
    /// Where it lies if it is no global variable: `+0x8 of a block of 64 bytes from table.c:20`, or on
    /// whose stack.
    pub lies: Option<String>,
    /// How many locks these are.
    pub locks: usize,
    /// Acquisitions, traced or not.
    pub acquisitions: u64,
    /// Whether a part of them is an estimate.
    pub acquisitions_estimated: bool,
    /// Of those, how many had to wait.
    pub contended: u64,
    /// Sections traced.
    pub traced: u64,
    /// Threads among them.
    pub threads: usize,
    /// Seconds that it was held; 0 if no hold was timed.
    pub held_seconds: f64,
    /// Seconds that threads waited for it.
    pub waited_seconds: f64,
    /// Sections against the last ones of their lock.
    pub window: Pairs,
    /// Sections against those that they waited for.
    pub contended_pairs: Pairs,
    /// Fields that pairs of the window conflict on, the most frequent first.
    pub causes: Vec<NamedCause>,
    /// How many fields there are.
    pub cause_fields: usize,
    /// What its sections touch, the most first.
    pub data: Vec<Data>,
    /// How many kinds of data there are.
    pub data_kinds: usize,
    /// Independent pieces of data that it guards, as far as the traced sections show.
    pub pieces: u64,
    /// Of those, how many were met again.
    pub pieces_met_again: u64,
    /// Share of sections that are about the largest of them.
    pub largest_piece: f64,
    /// Pieces but for the first of the causes.
    pub pieces_without_first_cause: u64,
    /// Whether some sections held it for reading.
    pub shared_mode: bool,
    /// Sections left out since another thread ended than began them.
    pub handed_over: u64,
    /// Its call sites, those that acquired most first.
    pub sites: Vec<Site>,
    /// What to do about it, the most useful first.
    pub advice: Vec<Proposal>,
}

/// A variable, or the blocks of the heap of one size from one place, that sections touch.
#[derive(Clone, Debug, Serialize)]
pub struct Data {
    /// What it is: `table (app)`, `blocks of 64 bytes from table.c:20`.
    pub what: String,
    /// Blocks of the heap that were touched; 0 for a variable.
    pub blocks: u64,
    /// Distinct words that were touched.
    pub words: u64,
    /// Share of all words that sections touched, each counted in each section.
    pub share: f64,
    /// Share of these that the section wrote to.
    pub written: f64,
}

/// A field that sections conflict on.
#[derive(Clone, Debug, Serialize)]
pub struct NamedCause {
    /// What it is: `total (app)`, `+0x8 of blocks of 64 bytes from table.c:20`.
    pub field: String,
    /// Share of the conflicting pairs that conflict on it.
    pub share: f64,
    /// Share of the conflicting pairs that conflict on nothing else.
    pub alone: f64,
    /// A line that reads it.
    pub read_at: Option<String>,
    /// A line that writes it.
    pub written_at: Option<String>,
}

impl NamedCause {
    /// What to split off: of memory that has no name, what a line writes.
    pub fn to_split(&self) -> String {
        match &self.written_at {
            Some(line) if self.field.starts_with("0x") => format!("what {line} writes"),
            _ => self.field.clone(),
        }
    }
}

/// A call site.
#[derive(Clone, Debug, Serialize)]
pub struct Site {
    /// Where it is.
    pub place: String,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Sections traced.
    pub traced: u64,
    /// Instructions of a section, of those that were traced to their end.
    pub instructions: Distribution,
    /// Share of instructions that access memory.
    pub memory_share: f64,
    /// Share of instructions that access memory outside of the thread's stack.
    pub outside_share: f64,
    /// Share of instructions that may access what several threads accessed.
    pub shared_share: f64,
    /// Distinct words outside of the stack, on average.
    pub words: f64,
    /// Of those, how many are read.
    pub words_read: f64,
    /// Of those, how many are written.
    pub words_written: f64,
    /// Of those, how many several threads accessed.
    pub words_shared: f64,
    /// Bytes, on average.
    pub bytes: f64,
    /// Sections that allocated or freed memory.
    pub allocating: u64,
    /// Sections that did input or output.
    pub doing_io: u64,
    /// Sections in which tracing stopped.
    pub stopped: u64,
    /// Why, with how many sections.
    pub stops: Vec<(String, u64)>,
    /// Instructions of all traced sections, also of those in which tracing stopped.
    pub total_instructions: u64,
    /// System calls, with how many sections made them.
    pub system_calls: Vec<(String, u64)>,
    /// Lines that touch nothing shared, those with most instructions first.
    pub unshared_lines: Vec<Line>,
}

/// A source line.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Where it is.
    pub place: String,
    /// Its share of the site's instructions.
    pub share: f64,
}

/// Gives names to the facts of a trace, made with this window.
pub fn named(
    trace: &Trace,
    facts: &Facts,
    options: &crate::Options,
    names: &mut dyn Names,
) -> Report {
    let (all, header) = (&facts.overall, &trace.header);
    let [besides, processor] =
        [header.besides_ticks, header.processor_ticks].map(|ticks| trace.seconds(ticks));
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
        too_few: too_few(trace, facts, names),
        dropped: header.dropped,
        left_out: trace.left_out,
        thread_seconds: all.thread_seconds,
        cost_seconds: all.cost,
        besides_seconds: besides,
        program_seconds: (processor - all.cost - besides).max(0.0),
        budget: (header.budget_permille > 0).then(|| f64::from(header.budget_permille) / 1000.0),
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

fn too_few(trace: &Trace, facts: &Facts, names: &mut dyn Names) -> Vec<TooFew> {
    let header = &trace.header;
    let [besides, processor] =
        [header.besides_ticks, header.processor_ticks].map(|ticks| trace.seconds(ticks));
    let own = (processor - facts.overall.cost - besides).max(f64::MIN_POSITIVE);
    let seconds = trace.seconds(trace.ended().saturating_sub(header.started));
    // What the library takes the budget of (`process/budget.rs`).
    let own = own.min(seconds.max(f64::MIN_POSITIVE));
    let run = Run {
        seconds,
        processor: own,
        budget: (header.budget_permille > 0).then(|| f64::from(header.budget_permille) / 1000.0),
        counting: besides / own,
    };
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
            enough: crate::ENOUGH,
            run_seconds: run.seconds,
            enough_seconds: scarce.seconds(&run),
            enough_budget: scarce.budget(&run),
        }
    };
    facts.scarce.iter().map(one).collect()
}

/// Where a lock lies that is no variable.
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

/// Data by what it is called: the words of a variable are one.
fn data(touched: &[(Object, Touched)], names: &mut dyn Names) -> Vec<Data> {
    const ELSEWHERE: &str = "memory that is no variable's and no block's";
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

/// Why tracing stopped in a section.
fn why_stopped(why: u32) -> &'static str {
    match why {
        STOP_FORK => "a fork",
        STOP_JUMP => "a jump out of the section",
        STOP_LIMIT => "too many instructions or too much data",
        STOP_CLONE => "a new thread",
        STOP_UNKNOWN => "an instruction that is not known",
        _ => "what can't be followed",
    }
}

/// The lines of which no instruction touches anything shared.
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
