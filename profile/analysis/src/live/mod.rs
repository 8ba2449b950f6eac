//! What a running program does now: the difference between two readings of its recording.
//!
//! A reading must be cheap, since there is one every second. So it only sums the counters. Names
//! are looked up only for the locks that are shown, and are cached.

mod stuck;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use syncline_recording::{Error, Primitive, ProcessFile, process_files};

use crate::build::{Clock, Interruptions, Tally, waiting_op, wants_or_waits};
use crate::model::{Kind, Stuck};
use crate::name::primitive as primitive_name;
use crate::options::Options;
use syncline_code::file::library::Library;
use syncline_code::symbols::Symbols;

/// A recording that is read repeatedly.
pub struct Live {
    recording: PathBuf,
    options: Options,
    library: Rc<Library>,
    processes: HashMap<PathBuf, Seen>,
}

/// What happened in one process since the last reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Process ID.
    pub pid: u32,
    /// Path of the executable.
    pub executable: String,
    /// Seconds since the last reading.
    pub seconds: f64,
    /// Threads that have not ended.
    pub threads: usize,
    /// The objects with any activity: locks, then futexes, then events; in each group those with
    /// most waiting first.
    pub locks: Vec<LockRates>,
    /// The threads that wait now.
    pub waiting: Vec<ThreadWait>,
    /// The threads that can't continue.
    pub stuck: Vec<Stuck>,
}

/// What happened to one lock.
#[derive(Clone, Debug, PartialEq)]
pub struct LockRates {
    /// The name of the lock's variable. If the lock is not a global variable, or not among the
    /// first [`Live::NAMED`], its primitive and address.
    pub name: String,
    /// The lock's address.
    pub address: u64,
    /// The lock's primitive.
    pub primitive: Primitive,
    /// The call site with most waiting, or with most calls if none waited; empty if unknown, or if
    /// the lock is not among the first [`Live::NAMED`].
    pub place: String,
    /// Calls a second.
    pub calls: f64,
    /// Ended waits a second.
    pub waits: f64,
    /// Seconds waited in a second, summed over all threads. A wait counts when it ends.
    pub waited: f64,
    /// Threads that wait now.
    pub waiting: usize,
}

/// A thread that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadWait {
    /// The kernel's thread ID.
    pub tid: u32,
    /// The thread's name.
    pub name: String,
    /// The address of the object that the thread waits for.
    pub address: u64,
    /// The object's primitive.
    pub primitive: Primitive,
}

/// The counters of one lock at one stack: calls, waits, ticks waited.
type Counters = HashMap<(Primitive, u64, u32), [u64; 3]>;

struct Seen {
    at: Instant,
    counters: Counters,
    symbols: Symbols,
    modules: usize,
    stuck: stuck::Watch,
}

impl Live {
    /// At most this many locks of a process get names and call sites.
    pub const NAMED: usize = 50;

    /// Prepares to read a recording. The first reading has no earlier one to compare with. It
    /// reports only threads that wait now, what they wait for, and threads that can't continue.
    pub fn new(recording: &Path, options: &Options) -> Live {
        let library = Library::new(&options.debug_dirs);
        let options = options.clone();
        Live { recording: recording.to_owned(), options, library, processes: HashMap::new() }
    }

    /// Reads the processes of the recording, in the order of their files. A file that can't be read
    /// is left out, since its process may still be creating it.
    ///
    /// # Errors
    /// If there is no recording.
    pub fn look(&mut self) -> Result<Vec<Rates>, Error> {
        let mut all = Vec::new();
        for path in process_files(&self.recording)? {
            if let Ok(file) = ProcessFile::open_counts(&path) {
                all.push(self.process(path, &file));
            }
        }
        Ok(all)
    }

    fn process(&mut self, path: PathBuf, file: &ProcessFile) -> Rates {
        let at = Instant::now();
        let counters = counters(file);
        let before = self.processes.remove(&path);
        let seconds = before.as_ref().map_or(0.0, |seen| (at - seen.at).as_secs_f64());
        let changes = before.as_ref().map(|seen| changes(&seen.counters, &counters));
        let modules = file.modules.len();
        let (mut watch, known) = match before {
            Some(seen) => (seen.stuck, (seen.modules == modules).then_some(seen.symbols)),
            None => (stuck::Watch::default(), None),
        };
        let stuck = watch.look(&path, file, &self.options, &self.library);
        let mut symbols = known.unwrap_or_else(|| Symbols::new(&file.modules, &self.library));
        let waiting = waiting(file);
        let mut locks = rates(&changes.unwrap_or_default(), &waiting, seconds, file);
        let named = locks.iter().take(Self::NAMED);
        symbols.read_wrappers(named.map(|(_, stack)| file.stack(*stack)));
        for (lock, stack) in locks.iter_mut().take(Self::NAMED) {
            lock.name = symbols.variable(lock.address).unwrap_or_else(|| lock.name.clone());
            lock.place = place(&mut symbols, file.stack(*stack));
        }
        self.processes.insert(path, Seen { at, counters, symbols, modules, stuck: watch });
        Rates {
            pid: file.header.pid,
            executable: file.executable(),
            seconds,
            threads: file.threads.iter().filter(|t| t.record.ended == 0).count(),
            locks: locks.into_iter().map(|(lock, _)| lock).collect(),
            waiting,
            stuck,
        }
    }
}

fn counters(file: &ProcessFile) -> Counters {
    let mut counters = Counters::new();
    let clock = Clock::new(file, None);
    let all =
        file.threads.iter().flat_map(|thread| thread.rows.iter().map(move |row| (thread, row)));
    for (thread, row) in all {
        if wants_or_waits(row.op) {
            let tally = Tally::of_row(row, Interruptions::of(&thread.record, &clock));
            let key = (row.op.primitive(), row.counts.lock, row.counts.stack);
            let sums = counters.entry(key).or_default();
            for (sum, more) in sums.iter_mut().zip([tally.calls, tally.waits, tally.waited]) {
                *sum = sum.saturating_add(more);
            }
        }
    }
    counters
}

fn changes(before: &Counters, after: &Counters) -> Counters {
    let change = |(key, now): (&_, &[u64; 3])| {
        let was = before.get(key).copied().unwrap_or_default();
        (*key, std::array::from_fn(|n| now[n].saturating_sub(was[n])))
    };
    after.iter().map(change).filter(|(_, change)| *change != [0; 3]).collect()
}

fn waiting(file: &ProcessFile) -> Vec<ThreadWait> {
    let wait = |thread: &syncline_recording::Thread| {
        let op = waiting_op(&thread.record)?;
        Some(ThreadWait {
            tid: thread.record.tid,
            name: thread.record.name(),
            address: thread.record.waiting_lock,
            primitive: op.primitive(),
        })
    };
    file.threads.iter().filter_map(wait).collect()
}

/// What happened to one lock.
#[derive(Default)]
struct Sum {
    /// Calls, waits, ticks waited.
    change: [u64; 3],
    /// Threads that wait now.
    waiting: usize,
    /// The stack with most waiting: ticks, calls and the stack.
    most: (u64, u64, u32),
}

/// The locks, each with the stack that has most waiting. They are ordered by kind, and within a
/// kind with most waiting first.
fn rates(
    changes: &Counters,
    waiting: &[ThreadWait],
    seconds: f64,
    file: &ProcessFile,
) -> Vec<(LockRates, u32)> {
    let mut sums: HashMap<(Primitive, u64), Sum> = HashMap::new();
    for wait in waiting {
        sums.entry((wait.primitive, wait.address)).or_default().waiting += 1;
    }
    for (&(primitive, address, stack), change) in changes {
        let sum = sums.entry((primitive, address)).or_default();
        let [calls, _, ticks] = *change;
        sum.most = sum.most.max((ticks, calls, stack));
        for (sum, more) in sum.change.iter_mut().zip(change) {
            *sum = sum.saturating_add(*more);
        }
    }
    let per_second = |n: f64| if seconds > 0.0 { n / seconds } else { 0.0 };
    let rates = |((primitive, address), sum): ((Primitive, u64), Sum)| {
        let [calls, waits, ticks] = sum.change;
        let lock = LockRates {
            name: format!("{} {address:#x}", primitive_name(primitive)),
            address,
            primitive,
            place: String::new(),
            calls: per_second(calls as f64),
            waits: per_second(waits as f64),
            waited: per_second(file.seconds(ticks)),
            waiting: sum.waiting,
        };
        (lock, sum.most.2)
    };
    let mut locks: Vec<_> = sums.into_iter().map(rates).collect();
    locks.sort_by(|(a, _), (b, _)| {
        let order = |l: &LockRates| (l.waited, l.waiting as f64, l.calls);
        let by_cost = order(b).partial_cmp(&order(a)).expect("rates are numbers");
        let kind = |l: &LockRates| Kind::of(l.primitive);
        kind(a).cmp(&kind(b)).then(by_cost).then(a.address.cmp(&b.address))
    });
    locks
}

fn place(symbols: &mut Symbols, addresses: &[u64]) -> String {
    let stack = symbols.stack(addresses);
    stack.place.map_or_else(String::new, |frame| symbols.frame(frame).place())
}
