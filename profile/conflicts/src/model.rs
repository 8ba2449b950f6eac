//! The results of the analysis, with names, as plain data to be shown or serialized.

use serde::Serialize;

use crate::advice::Proposal;
use crate::section::Distribution;

/// The name and version of the JSON document. The number changes when a field is removed or gets
/// another meaning. New fields may be added without changing it.
pub const SCHEMA: &str = "syncline-inspect/1";

/// Gives names to addresses.
pub trait Names {
    /// The call site that returns to this address, such as `push queue.c:120`.
    fn place(&mut self, return_address: u64) -> String;
    /// The source line of an instruction, such as `queue.c:120`, or its function if lines are not
    /// known.
    fn line(&mut self, instruction: u64) -> String;
    /// The variable, global or on a stack, that contains an address, such as `name+0x8 (binary)`;
    /// `None` if none is known.
    fn variable(&mut self, address: u64) -> Option<String>;
    /// The name of that variable without the offset, such as `name (binary)`.
    fn whole_variable(&mut self, address: u64) -> Option<String>;
}

/// The results for one process.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The number of the process.
    pub pid: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Why the process was left alone; `None` if it was traced.
    pub left_alone: Option<String>,
    /// The number of acquisitions of the locks of which sections were traced.
    pub acquisitions: u64,
    /// Whether the number of acquisitions is partly an estimate. (If there is a budget, not all of
    /// the acquisitions of busy call sites are counted.)
    pub acquisitions_estimated: bool,
    /// Whether the process could not write its last counts, because it was killed or still ran. In
    /// that case the numbers of acquisitions, and of those that waited, are lower bounds.
    pub cut_short: bool,
    /// How many sections were traced.
    pub traced: u64,
    /// The number of locks of which no section was traced, because none was drawn or they were not
    /// selected.
    pub untraced_locks: u64,
    /// The number of acquisitions of the untraced locks.
    pub untraced_acquisitions: u64,
    /// How many seconds threads waited for the untraced locks.
    pub untraced_waited_seconds: f64,
    /// The name, or else the address, of the untraced lock with the longest total wait; `None` if
    /// no thread waited for any of them.
    pub untraced_longest: Option<String>,
    /// The locks with too few traced sections among the three locks with the longest total waits,
    /// the longest wait first.
    pub too_few: Vec<TooFew>,
    /// The number of records that were lost because the trace had no room.
    pub dropped: u64,
    /// The number of sections in the trace that this analysis left out, because they would have
    /// taken too much memory.
    pub left_out: u64,
    /// The seconds that all threads ran, added up.
    pub thread_seconds: f64,
    /// How many seconds of processor time tracing cost in all threads.
    pub cost_seconds: f64,
    /// How many seconds (estimated) inspecting cost otherwise: for its start, for threads that
    /// begin, and for acquisitions and allocations that were only counted.
    pub besides_seconds: f64,
    /// How many seconds of processor time the program itself took, without these two costs.
    pub program_seconds: f64,
    /// The budget: the largest share of the program's time that inspecting was allowed to take;
    /// `None` if there was no limit.
    pub budget: Option<f64>,
    /// The mean share of independent pairs, weighted by how long the locks were held, or by their
    /// instructions. `None` if no pair was compared, or only pairs of locks with weight 0.
    pub independence: Option<f64>,
    /// The uncertainty of `independence` from sampling: in 19 of 20 cases, it is within this
    /// distance of the true value.
    pub independence_uncertainty: f64,
    /// Whether the weights are numbers of instructions and not times.
    pub weighted_by_instructions: bool,
    /// The number of processors that the program could use.
    pub processors: usize,
    /// How many of these processors could be kept busy if sections ran optimistically, with this
    /// independence.
    pub processors_busy: Option<f64>,
    /// How many of 15 processors could be kept busy in this way.
    pub processors_busy_of_15: Option<f64>,
    /// With how many earlier sections of its lock each section was compared.
    pub window: usize,
    /// The locks, those with the largest weight first (how long they were held, or their
    /// instructions).
    pub locks: Vec<Lock>,
}

impl Report {
    /// The cost of inspecting, as a share of the program's own processor time; `None` if that time
    /// is unknown.
    pub fn slowdown(&self) -> Option<f64> {
        let cost = self.cost_seconds + self.besides_seconds;
        (self.program_seconds > 0.0).then(|| cost / self.program_seconds)
    }
}

/// A lock for which threads waited long, but of which too few sections were traced.
#[derive(Clone, Debug, Serialize)]
pub struct TooFew {
    /// The lock's name or position, and its call site; for several locks, their number and call
    /// site.
    pub lock: String,
    /// How many seconds threads waited for the lock.
    pub waited_seconds: f64,
    /// How many acquisitions there were.
    pub acquisitions: u64,
    /// How many of those acquisitions were traced.
    pub traced: u64,
    /// How many sections would be enough.
    pub enough: u64,
    /// How many seconds this run took.
    pub run_seconds: f64,
    /// About how many seconds a run like this one would have to take for enough sections within
    /// this budget.
    pub enough_seconds: f64,
    /// About how large the budget of this run should have been, as a share, for enough sections.
    /// `None` if the run had no budget, or too few acquisitions for any.
    pub enough_budget: Option<f64>,
}

/// The result of comparing pairs of sections.
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
    /// Its address; if there are several locks, that of the first.
    pub address: String,
    /// Its name, if it is a variable, global or on a stack; if there are several locks, that of the
    /// first.
    pub name: Option<String>,
    /// Its position, if it lies in a block of the heap, such as
    /// `+0x8 of a block of 64 bytes from table.c:20`.
    pub lies: Option<String>,
    /// The number of locks.
    pub locks: usize,
    /// The number of acquisitions, traced or not.
    pub acquisitions: u64,
    /// Whether the number of acquisitions is partly an estimate.
    pub acquisitions_estimated: bool,
    /// How many acquisitions had to wait.
    pub contended: u64,
    /// How many sections were traced.
    pub traced: u64,
    /// The number of threads that executed the traced sections.
    pub threads: usize,
    /// For how many seconds (estimated) the lock was held; 0 if no hold was timed.
    pub held_seconds: f64,
    /// How many seconds threads waited for the lock.
    pub waited_seconds: f64,
    /// The comparison of sections with the last ones of their lock, the window.
    pub window: Pairs,
    /// The comparison of sections with those that they waited for.
    pub contended_pairs: Pairs,
    /// The fields on which pairs of the window conflict, the most frequent first; not all if there
    /// are many.
    pub causes: Vec<NamedCause>,
    /// The number of fields on which pairs conflict, whether or not they are listed in `causes`.
    pub cause_fields: usize,
    /// The data that the lock's sections touch, the most touched first; not all if there is much.
    pub data: Vec<Data>,
    /// The number of kinds of data, whether or not they are listed in `data`.
    pub data_kinds: usize,
    /// The number of independent pieces of data that the lock guards, as far as the traced sections
    /// show.
    pub pieces: u64,
    /// How many of those pieces at least two sections accessed.
    pub pieces_met_again: u64,
    /// The share of sections that belong to the largest piece.
    pub largest_piece: f64,
    /// The number of independent pieces if the field of the first cause is ignored.
    pub pieces_without_first_cause: u64,
    /// Whether some sections held the lock as readers.
    pub shared_mode: bool,
    /// The number of sections that were left out because one thread began them and another ended
    /// them.
    pub handed_over: u64,
    /// The call sites that acquire the lock, those with the most acquisitions first.
    pub sites: Vec<Site>,
    /// What to do about the lock, the most useful first.
    pub advice: Vec<Proposal>,
}

/// A variable that sections touch, or the heap blocks of one size from one allocation site.
#[derive(Clone, Debug, Serialize)]
pub struct Data {
    /// A description of the data, such as `table (app)` or `blocks of 64 bytes from table.c:20`.
    pub what: String,
    /// The number of blocks of the heap that were touched; 0 for a variable.
    pub blocks: u64,
    /// The number of distinct words that were touched.
    pub words: u64,
    /// The share of this data in all words that sections touched, each word counted once for each
    /// section that touched it.
    pub share: f64,
    /// The share of these words (counted in the same way) that the section wrote.
    pub written: f64,
}

/// A field on which sections conflict.
#[derive(Clone, Debug, Serialize)]
pub struct NamedCause {
    /// A description of the field, such as `total (app)` or
    /// `+0x8 of blocks of 64 bytes from table.c:20`.
    pub field: String,
    /// The share of the conflicting pairs that conflict on this field.
    pub share: f64,
    /// The share of the conflicting pairs that conflict on nothing else.
    pub alone: f64,
    /// A source line that reads the field; `None` if none was seen.
    pub read_at: Option<String>,
    /// A source line that writes the field; `None` if none was seen.
    pub written_at: Option<String>,
}

impl NamedCause {
    /// A description of the data to split off. A field without a name is described by a source line
    /// that writes it.
    pub fn to_split(&self) -> String {
        match &self.written_at {
            Some(line) if self.field.starts_with("0x") => format!("what {line} writes"),
            _ => self.field.clone(),
        }
    }
}

/// A call site that acquires a lock.
#[derive(Clone, Debug, Serialize)]
pub struct Site {
    /// The position in the program.
    pub place: String,
    /// How many acquisitions there were.
    pub acquisitions: u64,
    /// How many sections were traced.
    pub traced: u64,
    /// The numbers of instructions of the sections that were traced to their end.
    pub instructions: Distribution,
    /// The share of instructions that access memory.
    pub memory_share: f64,
    /// The share of instructions that access memory outside of the thread's stack.
    pub outside_share: f64,
    /// The share of instructions that may access data which several threads accessed.
    pub shared_share: f64,
    /// The mean number of distinct words outside of the stack that a section accesses. This mean
    /// and the next four are over the sections that can be compared.
    pub words: f64,
    /// How many of those words the section reads.
    pub words_read: f64,
    /// How many of those words the section writes.
    pub words_written: f64,
    /// How many of those words several threads accessed.
    pub words_shared: f64,
    /// The mean number of bytes outside of the stack that a section accesses.
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
    /// The names of system calls, each with the number of sections that made the call.
    pub system_calls: Vec<(String, u64)>,
    /// The source lines that touch nothing shared, those with the most executed instructions first;
    /// not all if there are many.
    pub unshared_lines: Vec<Line>,
}

/// A source line.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The position in the program.
    pub place: String,
    /// The line's share of the instructions that all sections of the call site executed.
    pub share: f64,
}
