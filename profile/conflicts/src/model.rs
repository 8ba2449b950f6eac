//! The results of the analysis with names, as plain data that is shown or serialized.

use serde::Serialize;

use crate::advice::Proposal;
use crate::section::Distribution;

/// The name and version of the JSON document. The number changes when a field is removed or changes
/// its meaning; new fields may be added at any time.
pub const SCHEMA: &str = "syncline-inspect/1";

/// Gives names to addresses.
pub trait Names {
    /// The call site of a return address: `push queue.c:120`.
    fn place(&mut self, return_address: u64) -> String;
    /// The source line of an instruction: `queue.c:120`, or its function if lines are not known.
    fn line(&mut self, instruction: u64) -> String;
    /// The variable that contains an address, global or on a stack: `name+0x8 (binary)`; `None` if
    /// there is none.
    fn variable(&mut self, address: u64) -> Option<String>;
    /// The name of that variable without the offset: `name (binary)`.
    fn whole_variable(&mut self, address: u64) -> Option<String>;
}

/// The results for one process.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The process number.
    pub pid: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Why it was left alone; `None` if it was traced.
    pub left_alone: Option<String>,
    /// The number of acquisitions of the locks of which sections were traced.
    pub acquisitions: u64,
    /// Whether part of these acquisitions is an estimate: within a budget, frequent acquisitions
    /// are not all counted.
    pub acquisitions_estimated: bool,
    /// Whether the process could not write its last counts, because it was killed or still ran. In
    /// that case the numbers of acquisitions, and of those that waited, are lower bounds.
    pub cut_short: bool,
    /// Sections traced.
    pub traced: u64,
    /// The number of locks of which no section was traced, because the sample had none or they were
    /// not selected.
    pub untraced_locks: u64,
    /// The number of acquisitions of the untraced locks.
    pub untraced_acquisitions: u64,
    /// Seconds that threads waited for them.
    pub untraced_waited_seconds: f64,
    /// The name, or else the address, of the untraced lock with the longest total wait; `None` if
    /// none of them was waited for.
    pub untraced_longest: Option<String>,
    /// Of the three locks with the most waiting, those of which too few sections were traced, the
    /// one with the most waiting first.
    pub too_few: Vec<TooFew>,
    /// The number of records for which the trace had no room.
    pub dropped: u64,
    /// The number of sections of the trace that were left out, because they would have taken too
    /// much memory.
    pub left_out: u64,
    /// The seconds that all threads ran, added up.
    pub thread_seconds: f64,
    /// Seconds of processor time that tracing cost, over all threads.
    pub cost_seconds: f64,
    /// The estimated seconds that inspecting cost otherwise: for its start, for threads, and for
    /// acquisitions and allocations that it only counted.
    pub besides_seconds: f64,
    /// Seconds of processor time of the program itself, without these two costs.
    pub program_seconds: f64,
    /// The budget: the largest share of the program's time that inspecting was allowed to take;
    /// `None` if there was no limit.
    pub budget: Option<f64>,
    /// The mean share of independent pairs, weighted by the time that the locks were held, or by
    /// their instructions; `None` if no pair was compared, or only pairs of locks without weight.
    pub independence: Option<f64>,
    /// The uncertainty of `independence` from sampling: in 19 of 20 cases, it is within this
    /// distance of the true value.
    pub independence_uncertainty: f64,
    /// Whether the weights are instructions in place of time.
    pub weighted_by_instructions: bool,
    /// The number of processors that the program could use.
    pub processors: usize,
    /// How many of these processors optimistic sections of this independence could keep busy.
    pub processors_busy: Option<f64>,
    /// How many of 15 processors they could keep busy.
    pub processors_busy_of_15: Option<f64>,
    /// How many earlier sections of its lock each section was compared with.
    pub window: usize,
    /// The locks, ordered by the time that they were held, or by their instructions, the most
    /// first.
    pub locks: Vec<Lock>,
}

impl Report {
    /// The cost of inspecting as a share of the program's own processor time; `None` if that time
    /// is unknown.
    pub fn slowdown(&self) -> Option<f64> {
        let cost = self.cost_seconds + self.besides_seconds;
        (self.program_seconds > 0.0).then(|| cost / self.program_seconds)
    }
}

/// A lock with much waiting, of which too few sections were traced.
#[derive(Clone, Debug, Serialize)]
pub struct TooFew {
    /// Its name or its position, and its call site; for several locks, their number and call site.
    pub lock: String,
    /// Seconds that threads waited for it.
    pub waited_seconds: f64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// How many of those were traced.
    pub traced: u64,
    /// How many sections would be enough.
    pub enough: u64,
    /// The seconds that this run took.
    pub run_seconds: f64,
    /// The approximate seconds that a run like this one would have to take for enough sections within
    /// this budget.
    pub enough_seconds: f64,
    /// The approximate budget that would have sufficed for this run, as a share; `None` if the run
    /// had no budget, or too few acquisitions for any.
    pub enough_budget: Option<f64>,
}

/// The comparison of pairs of sections.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pairs {
    /// The number of pairs that were compared.
    pub pairs: u64,
    /// The number of sections that were compared with at least one other.
    pub sections: u64,
    /// The share of those sections that conflict with at least one other.
    pub conflicting_sections: f64,
    /// The share of pairs that conflict.
    pub conflicting: f64,
    /// The uncertainty from sampling: in 19 of 20 cases, the share is within this distance of the
    /// true one.
    pub uncertainty: f64,
    /// The mean number of bytes in the later section's address set, over the conflicting pairs.
    pub mean_set_bytes: f64,
    /// The mean number of bytes that conflict in a conflicting pair.
    pub mean_conflicting_bytes: f64,
}

/// A lock, or several that are acquired at one call site.
#[derive(Clone, Debug, Serialize)]
pub struct Lock {
    /// Its address; that of the first, if there are several.
    pub address: String,
    /// Its name, if it is a variable, global or on a stack; if there are several, that of the
    /// first.
    pub name: Option<String>,
    /// Its position if it lies in a block of the heap: `+0x8 of a block of 64 bytes from
    /// table.c:20`.
    pub lies: Option<String>,
    /// The number of locks.
    pub locks: usize,
    /// The number of acquisitions, traced or not.
    pub acquisitions: u64,
    /// Whether a part of them is an estimate.
    pub acquisitions_estimated: bool,
    /// How many acquisitions had to wait.
    pub contended: u64,
    /// Sections traced.
    pub traced: u64,
    /// The number of threads that executed the traced sections.
    pub threads: usize,
    /// Seconds that it was held; 0 if no hold was timed.
    pub held_seconds: f64,
    /// Seconds that threads waited for it.
    pub waited_seconds: f64,
    /// Comparisons of sections with the last ones of their lock.
    pub window: Pairs,
    /// Comparisons of sections with those that they waited for.
    pub contended_pairs: Pairs,
    /// Fields that pairs of the window conflict on, the most frequent first.
    pub causes: Vec<NamedCause>,
    /// The number of fields that pairs conflict on, listed or not.
    pub cause_fields: usize,
    /// The data that its sections touch, the most touched first.
    pub data: Vec<Data>,
    /// The number of kinds of data, listed or not.
    pub data_kinds: usize,
    /// The number of independent pieces of data that it guards, as far as the traced sections show.
    pub pieces: u64,
    /// How many of those pieces were accessed by at least two sections.
    pub pieces_met_again: u64,
    /// The share of sections that belong to the largest piece.
    pub largest_piece: f64,
    /// The number of independent pieces without the field of the first cause.
    pub pieces_without_first_cause: u64,
    /// Whether some sections held it as readers.
    pub shared_mode: bool,
    /// The number of sections that were left out because they were ended by another thread than the
    /// one that began them.
    pub handed_over: u64,
    /// Its call sites, those with the most acquisitions first.
    pub sites: Vec<Site>,
    /// What to do about it, the most useful first.
    pub advice: Vec<Proposal>,
}

/// A variable that sections touch, or the heap blocks of one size from one allocation site.
#[derive(Clone, Debug, Serialize)]
pub struct Data {
    /// Its description: `table (app)`, `blocks of 64 bytes from table.c:20`.
    pub what: String,
    /// The number of blocks of the heap that were touched; 0 for a variable.
    pub blocks: u64,
    /// The number of distinct words that were touched.
    pub words: u64,
    /// Its share of all words that sections touched, each counted once for each section.
    pub share: f64,
    /// The share of these words that the section wrote to.
    pub written: f64,
}

/// A field that sections conflict on.
#[derive(Clone, Debug, Serialize)]
pub struct NamedCause {
    /// Its description: `total (app)`, `+0x8 of blocks of 64 bytes from table.c:20`.
    pub field: String,
    /// The share of the conflicting pairs that conflict on it.
    pub share: f64,
    /// The share of the conflicting pairs that conflict on nothing else.
    pub alone: f64,
    /// A source line that reads it; `None` if none was seen.
    pub read_at: Option<String>,
    /// A source line that writes it; `None` if none was seen.
    pub written_at: Option<String>,
}

impl NamedCause {
    /// The data to split off. Memory without a name is described by a line that writes it.
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
    /// Its position in the program.
    pub place: String,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Sections traced.
    pub traced: u64,
    /// The numbers of instructions of the sections that were traced to their end.
    pub instructions: Distribution,
    /// Share of instructions that access memory.
    pub memory_share: f64,
    /// Share of instructions that access memory outside of the thread's stack.
    pub outside_share: f64,
    /// Share of instructions that may access data that several threads accessed.
    pub shared_share: f64,
    /// The mean number of distinct words outside of the stack in a section that can be compared.
    pub words: f64,
    /// How many of those words are read.
    pub words_read: f64,
    /// How many of those words are written.
    pub words_written: f64,
    /// How many of those words several threads accessed.
    pub words_shared: f64,
    /// The mean number of bytes outside of the stack in a section.
    pub bytes: f64,
    /// The number of sections that allocated or freed memory.
    pub allocating: u64,
    /// The number of sections that did input or output.
    pub doing_io: u64,
    /// The number of sections in which tracing stopped.
    pub stopped: u64,
    /// The reasons why tracing stopped, each with its number of sections.
    pub stops: Vec<(String, u64)>,
    /// The number of instructions of all traced sections, including those in which tracing stopped.
    pub total_instructions: u64,
    /// The names of system calls, each with the number of sections that made it.
    pub system_calls: Vec<(String, u64)>,
    /// Source lines that touch nothing shared, those with the most instructions first.
    pub unshared_lines: Vec<Line>,
}

/// A source line.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Its position in the program.
    pub place: String,
    /// Its share of the site's instructions.
    pub share: f64,
}
