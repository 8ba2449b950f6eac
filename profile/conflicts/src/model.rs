//! The results of a trace, with names: plain data that is shown or serialized.

use serde::Serialize;

use crate::advice::Proposal;
use crate::section::Distribution;

/// The name and version of the JSON document. The number changes when a field is removed, or
/// changes its meaning; new fields may come at any time.
pub const SCHEMA: &str = "syncline-inspect/1";

/// What addresses mean.
pub trait Names {
    /// The place of a call, by its return address: `push  queue.c:120`.
    fn place(&mut self, return_address: u64) -> String;
    /// The source line of an instruction: `queue.c:120`; its function where lines are not known.
    fn line(&mut self, instruction: u64) -> String;
    /// The global variable that an address lies in: `name+0x8 (binary)`.
    fn variable(&mut self, address: u64) -> Option<String>;
    /// The name of that variable without the offset: `name (binary)`.
    fn whole_variable(&mut self, address: u64) -> Option<String>;
}

/// One process.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Process number.
    pub pid: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Why it was left alone; `None` if it was traced.
    pub left_alone: Option<String>,
    /// Acquisitions of the locks of which sections were traced.
    pub acquisitions: u64,
    /// Whether a part of them is an estimate: within a budget, frequent acquisitions are not all
    /// counted.
    pub acquisitions_estimated: bool,
    /// Whether the process was killed or still ran, so that it could not write its last counts:
    /// acquisitions, and how many of them waited, are at least this many.
    pub cut_short: bool,
    /// Sections traced.
    pub traced: u64,
    /// Locks of which no section was traced, since the sample had none or they were not selected.
    pub untraced_locks: u64,
    /// Their acquisitions.
    pub untraced_acquisitions: u64,
    /// Seconds that threads waited for them.
    pub untraced_waited_seconds: f64,
    /// The lock with the longest total wait among them: its name, or its address; `None` if none
    /// was.
    pub untraced_longest: Option<String>,
    /// Those of the three locks with most waiting of which too few sections were traced, most
    /// waiting first.
    pub too_few: Vec<TooFew>,
    /// Records that found no room in the trace.
    pub dropped: u64,
    /// Sections of the trace that were left out, since they would have taken too much memory.
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
    /// The budget: the largest share of that which inspecting was allowed to take; `None` if there
    /// was no limit.
    pub budget: Option<f64>,
    /// Mean share of independent pairs, weighted by the time that the locks were held; `None` if no
    /// pair was compared.
    pub independence: Option<f64>,
    /// The uncertainty of it from sampling, in 19 of 20 cases.
    pub independence_uncertainty: f64,
    /// Whether the weights are instructions in place of time.
    pub weighted_by_instructions: bool,
    /// Processors that the program could use.
    pub processors: usize,
    /// Processors of them that optimistic sections of this independence could keep busy.
    pub processors_busy: Option<f64>,
    /// Processors that they could keep busy of 15.
    pub processors_busy_of_15: Option<f64>,
    /// Earlier sections that each was compared with.
    pub window: usize,
    /// The locks, those that were held longest first.
    pub locks: Vec<Lock>,
}

impl Report {
    /// By how much inspecting has slowed the program down, as a share of its own processor time;
    /// `None` if that is not known.
    pub fn slowdown(&self) -> Option<f64> {
        let cost = self.cost_seconds + self.besides_seconds;
        (self.program_seconds > 0.0).then(|| cost / self.program_seconds)
    }
}

/// A lock with much waiting, of which too few sections were traced.
#[derive(Clone, Debug, Serialize)]
pub struct TooFew {
    /// Its name, or its position, and where it is taken.
    pub lock: String,
    /// Seconds that threads waited for it.
    pub waited_seconds: f64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// How many of those were traced.
    pub traced: u64,
    /// How many are enough.
    pub enough: u64,
    /// Seconds that this run took.
    pub run_seconds: f64,
    /// About how many seconds a run like this one would have to take to have enough within this budget.
    pub enough_seconds: f64,
    /// The approximate budget that would have sufficed for this run, as a share; `None` if it has
    /// too few acquisitions for any.
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
    /// The uncertainty from sampling: the share is known to within this much, in 19 of 20 cases.
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
    /// Its name, if it is a global variable; if there are several, that of the first.
    pub name: Option<String>,
    /// Its position if it is not a global variable: `+0x8 of a block of 64 bytes from table.c:20`,
    /// or on whose stack.
    pub lies: Option<String>,
    /// How many locks these are.
    pub locks: usize,
    /// Acquisitions, traced or not.
    pub acquisitions: u64,
    /// Whether a part of them is an estimate.
    pub acquisitions_estimated: bool,
    /// How many of those had to wait.
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
    /// The data that its sections touch, most touched first.
    pub data: Vec<Data>,
    /// How many kinds of data there are.
    pub data_kinds: usize,
    /// Independent pieces of data that it guards, as far as the traced sections show.
    pub pieces: u64,
    /// How many of those were met again.
    pub pieces_met_again: u64,
    /// Share of sections that are about the largest of them.
    pub largest_piece: f64,
    /// Pieces without the first of the causes.
    pub pieces_without_first_cause: u64,
    /// Whether some sections held it for reading.
    pub shared_mode: bool,
    /// Sections left out since they were ended by another thread than began them.
    pub handed_over: u64,
    /// Its call sites, those that acquired most first.
    pub sites: Vec<Site>,
    /// What to do about it, the most useful first.
    pub advice: Vec<Proposal>,
}

/// A variable that sections touch, or the heap blocks of one size from one allocation site.
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
    /// The data to split off: for memory without a name, what a line writes.
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
    /// How many of those are read.
    pub words_read: f64,
    /// How many of those are written.
    pub words_written: f64,
    /// How many of those several threads accessed.
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
