//! The limits of what was seen in a process.

use syncline_recording::ProcessFile;
use syncline_recording::layout::Region;

use crate::gain::SHORTEST;
use crate::model::{Kind, Note, Process, State, SymbolSource, is_openmp};
use syncline_code::symbols::place::is_wrapper;

/// Waits for unknown holders get a note if they are more than this share of all waits for locks.
/// Some holders are always missed, because they were releasing the lock at that moment; these alone
/// need no note.
const UNKNOWN_HOLDERS: f64 = 0.2;
/// OpenMP's own waits get a note if the threads sleep in the kernel for at least this share of
/// their time.
const OPENMP_WAITS: f64 = 0.1;

/// The notes of a process; those that affect the figures come first.
pub fn notes(file: &ProcessFile, process: &Process) -> Vec<Note> {
    let header = &file.header;
    let mut notes = Vec::new();
    let mut note = |when: bool, note: Note| {
        if when {
            notes.push(note);
        }
    };
    let mut counted = |count: u64, make: fn(u64) -> Note| note(count > 0, make(count));
    counted(header.dropped_operations, |count| Note::DroppedOperations { count });
    counted(header.dropped_waits, |count| Note::DroppedWaits { count });
    counted(dropped(&header.threads), |count| Note::DroppedThreads { count });
    counted(header.interrupted_operations, |count| Note::InterruptedOperations { count });
    counted(header.acquired_before, |count| Note::AcquiredBefore { count });
    counted(header.pointers_missed, |count| Note::PointersMissed { count });
    counted(dropped(&header.stacks), |count| Note::DroppedStacks { count });
    counted(dropped(&header.modules), |count| Note::DroppedModules { count });
    note(header.disk_full != 0, Note::DiskFull);
    note(process.state == State::Unknown, Note::NoEnd);
    note(process.seconds < SHORTEST && !process.findings.is_empty(), Note::ShortRun);
    let further =
        process.threads.iter().map(|thread| u64::from(thread.lifetimes.saturating_sub(1)));
    let threads = further.sum();
    note(threads > 0, Note::SharedThreadRecords { threads });
    note(process.locks.iter().any(|lock| lock.kind == Kind::Futex), Note::FutexesOnly);
    let asleep = process.times.kernel >= OPENMP_WAITS * process.thread_seconds;
    note(asleep && process.modules.iter().any(is_openmp), Note::OpenMpInside);
    let sites = process.sites.iter().filter(|site| site.sampled).count();
    note(sites > 0, Note::SampledLocks { sites });
    let (waits, of) = unknown_holders(process);
    note(waits as f64 > UNKNOWN_HOLDERS * of as f64, Note::UnknownHolders { waits, of });
    let stacks = process.stacks.iter().filter(|stack| stack.place.is_some()).count();
    let count = process.stacks.iter().filter(|stack| stack.broken).count();
    note(count > 0, Note::BrokenStacks { count, stacks });
    note(header.modules_changed != 0, Note::ModulesChanged);
    notes.extend(module_notes(process));
    notes
}

fn dropped(region: &Region) -> u64 {
    u64::from(region.dropped)
}

/// The number of waits for locks whose holder is not known, and of all waits for locks.
fn unknown_holders(process: &Process) -> (u64, u64) {
    let (mut unknown, mut all) = (0u64, 0u64);
    for lock in process.only_locks() {
        let known = lock.blockers.iter().fold(0u64, |sum, b| sum.saturating_add(b.waits));
        unknown = unknown.saturating_add(lock.figures.waits.saturating_sub(known));
        all = all.saturating_add(lock.figures.waits);
    }
    (unknown, all)
}

/// Notes about modules that contain a call site and whose source lines are not known.
fn module_notes(process: &Process) -> Vec<Note> {
    let frames = process.sites.iter().filter_map(|site| site.frame);
    let mut places: Vec<usize> = frames.filter_map(|f| process.frames[f].module).collect();
    places.sort_unstable();
    places.dedup();
    let note = |place: usize| {
        let module = &process.modules[place];
        if is_wrapper(module) {
            return None;
        }
        let path = module.path.clone();
        Some(match module.symbols? {
            SymbolSource::Debug => return None,
            SymbolSource::Symbols => Note::NoDebugInformation { path, functions: true },
            SymbolSource::Dynamic | SymbolSource::Nothing => {
                Note::NoDebugInformation { path, functions: false }
            }
            SymbolSource::Missing => Note::MissingModule { path },
            SymbolSource::Changed => Note::ChangedModule { path },
        })
    };
    places.into_iter().filter_map(note).collect()
}
