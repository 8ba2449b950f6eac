//! Limits of a recording, and what they mean for the figures.

use std::fmt;

use serde::{Serialize, Serializer};

use syncline_code::file::files::REPLACED;
use syncline_present::number::counted;

/// A limit of a recording that readers of the report should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Note {
    OnlyTheEnd { milliseconds: u64, all: bool, reaches: bool },
    Unreadable { error: String },
    NoEnd,
    ShortRun,
    DiskFull,
    DroppedOperations { count: u64 },
    DroppedWaits { count: u64 },
    InterruptedOperations { count: u64 },
    AcquiredBefore { count: u64 },
    PointersMissed { count: u64 },
    DroppedThreads { count: u64 },
    DroppedStacks { count: u64 },
    DroppedModules { count: u64 },
    SharedThreadRecords { threads: u64 },
    BrokenStacks { count: usize, stacks: usize },
    ModulesChanged,
    FutexesOnly,
    OpenMpInside,
    NoSamples { why: String },
    SampledLocks { sites: usize },
    UnknownHolders { waits: u64, of: u64 },
    ChangedModule { path: String },
    MissingModule { path: String },
    NoDebugInformation { path: String, functions: bool },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::OnlyTheEnd { milliseconds, all, reaches } => {
                let seconds = *milliseconds as f64 / 1e3;
                match (all, reaches) {
                    (true, _) => {
                        write!(f, "all {seconds:.1} s of the recording are shown")
                    }
                    (false, true) => {
                        write!(f, "only the last {seconds:.1} s of the recording are shown")
                    }
                    (false, false) => write!(
                        f,
                        "only the last {seconds:.1} s of the recording are shown, all windows that \
                         were kept: `record --keep` keeps more"
                    ),
                }
            }
            Note::Unreadable { error } => write!(f, "left out: {error}"),
            Note::NoEnd => write!(
                f,
                "the process did not say that it ended: it was killed, ran another program in \
                 its place, or still runs; all that it did until then is here"
            ),
            Note::ShortRun => write!(
                f,
                "the run is too short to predict a gain: its start and end are a large part of \
                 it; record a longer run"
            ),
            Note::DiskFull => {
                write!(f, "the disk was full: what came after that is missing")
            }
            Note::DroppedOperations { count } => write!(
                f,
                "{} not counted, because a thread was not recorded or there was no room: a larger \
                 --max-size gives more room",
                were(*count, "operation")
            ),
            Note::DroppedWaits { count } => write!(
                f,
                "{} neither counted nor measured, for lack of room: record with a larger \
                 --max-size",
                were(*count, "wait")
            ),
            Note::AcquiredBefore { count } => write!(
                f,
                "{} not counted, since the lock was acquired before recording began",
                were(*count, "hold")
            ),
            Note::PointersMissed { count } => write!(
                f,
                "{} to counted functions lay in the data of modules when recording began: calls \
                 through such pointers are not seen",
                counted(*count as usize, "pointer")
            ),
            Note::InterruptedOperations { count } => write!(
                f,
                "{} not counted, because a signal handler interrupted the recorder itself",
                were(*count, "operation")
            ),
            Note::DroppedThreads { count } => {
                write!(
                    f,
                    "{} not recorded: too many threads lived at once, or thousands with other \
                     start functions had been recorded before",
                    were(*count, "thread")
                )
            }
            Note::DroppedStacks { count } => write!(
                f,
                "{} not kept, for lack of room: only the innermost frame is shown",
                were(*count, "call stack")
            ),
            Note::DroppedModules { count: 1 } => {
                write!(f, "1 library was not noted: addresses in it have no names")
            }
            Note::DroppedModules { count } => {
                write!(f, "{count} libraries were not noted: addresses in them have no names")
            }
            Note::SharedThreadRecords { threads } => write!(
                f,
                "{} added to sums of earlier threads with the same start function: there were too \
                 many threads to keep apart",
                were(*threads, "thread")
            ),
            Note::BrokenStacks { count, stacks } => write!(
                f,
                "{count} of {stacks} call stacks {} early: code on the way has no unwind \
                 information",
                if *count == 1 { "ends" } else { "end" }
            ),
            Note::ModulesChanged => write!(
                f,
                "libraries were unloaded while the program ran: addresses in them may have \
                 wrong names"
            ),
            Note::FutexesOnly => write!(
                f,
                "futex locks (Rust's std, parking_lot, std::atomic::wait, GLib): only threads \
                 that had to wait are seen; uncontended acquisitions make no call, so rates and \
                 times held are not known"
            ),
            Note::OpenMpInside => write!(
                f,
                "OpenMP's library waits inside for the end of parallel regions and for tasks: that \
                 time is \"other kernel time\", or on a processor"
            ),
            Note::NoSamples { why } => write!(
                f,
                "loops that only wait, and sleeps other than recorded waits, can't be seen: the \
                 kernel refuses samples of where threads are (perf_event_open: {why}); \
                 kernel.perf_event_paranoid must be 2 or lower, and a container has to allow the call"
            ),
            Note::SampledLocks { sites } => write!(
                f,
                "{} more locks than have their own counters: for each of these locks, \
                 acquisitions without a wait and refused tries are estimated from a sample, one in \
                 128 to one in 512; sums and waits are exact",
                match sites {
                    1 => "a call site takes".to_owned(),
                    _ => format!("{sites} call sites take"),
                }
            ),
            Note::UnknownHolders { waits, of } => {
                write!(
                    f,
                    "for {waits} of {of} waits for locks it is not known which thread held \
                           the lock"
                )
            }
            Note::ChangedModule { path } => {
                write!(f, "{path} has changed since it was recorded: its addresses have no names")
            }
            Note::MissingModule { path } if path.ends_with(REPLACED) => {
                let path = path.trim_end_matches(REPLACED);
                write!(f, "{path} was replaced while it ran: its addresses have no names")
            }
            Note::MissingModule { path } => {
                write!(f, "{path} can't be read: its addresses have no names")
            }
            Note::NoDebugInformation { path, functions: true } => write!(
                f,
                "{path} has no debug information: functions have names, but no lines; compile it \
                 with -g or install its debug symbols"
            ),
            Note::NoDebugInformation { path, functions: false } => write!(
                f,
                "{path} is stripped: few names and no lines; keep its symbols or install its \
                 debug symbols"
            ),
        }
    }
}

/// How many things there were, as a subject and its verb: "1 wait was", "2 waits were".
fn were(number: u64, one: &str) -> String {
    let verb = if number == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(number as usize, one))
}

/// Serializes notes, each with its message.
pub(crate) fn with_messages<S: Serializer>(
    notes: &[Note],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WithMessage<'a> {
        #[serde(flatten)]
        note: &'a Note,
        message: String,
    }
    serializer.collect_seq(notes.iter().map(|note| WithMessage { note, message: note.to_string() }))
}
