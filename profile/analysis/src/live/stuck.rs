//! Threads of a running program that can't continue.
//!
//! To find them, the whole recording is analysed, with all names. So this is done only if a thread
//! has waited long for a lock, or if all threads have waited long for anything. It is not repeated
//! until one of these waits has ended, or another one has become long.

use std::path::Path;
use std::rc::Rc;

use syncline_recording::{ProcessFile, Thread};

use crate::analysis::Analysis;
use crate::build::waiting_op;
use crate::model::{Kind, Stuck};
use crate::options::Options;
use syncline_code::file::library::Library;

/// In healthy programs, hardly any thread waits for a lock for longer than this, in seconds.
const LONG: f64 = 1.0;

/// The latest result for one process.
#[derive(Default)]
pub struct Watch {
    /// The waits that led to the latest result: the index of each thread, and the moment since
    /// which it waits.
    asked: Vec<(u32, u64)>,
    found: Vec<Stuck>,
}

impl Watch {
    /// The threads that can't continue, analysed again if the long waits have changed.
    pub fn look(
        &mut self,
        path: &Path,
        file: &ProcessFile,
        options: &Options,
        library: &Rc<Library>,
    ) -> Vec<Stuck> {
        let waits = suspicious(file);
        if waits != self.asked {
            let whole = match waits.is_empty() {
                true => None,
                false => Analysis::load_with_library(path, options, library, &mut |_| {}).ok(),
            };
            self.found = whole.map_or_else(Vec::new, |mut whole| whole.processes.remove(0).stuck);
            self.asked = waits;
        }
        self.found.clone()
    }
}

/// The waits that are a reason to analyse the recording: the index of each thread, and the moment
/// since which it waits.
fn suspicious(file: &ProcessFile) -> Vec<(u32, u64)> {
    let end = file.ended();
    let is_long = |thread: &Thread| {
        let since = thread.record.waiting_since;
        waiting_op(&thread.record).filter(|_| file.seconds(end.saturating_sub(since)) >= LONG)
    };
    let living = || file.threads.iter().filter(|thread| thread.record.ended == 0);
    let all_wait = living().all(|thread| is_long(thread).is_some());
    let for_lock =
        |thread: &&Thread| is_long(thread).is_some_and(|op| Kind::of(op.primitive()) == Kind::Lock);
    let counts = living().filter(|thread| all_wait || for_lock(thread));
    counts.map(|thread| (thread.index, thread.record.waiting_since)).collect()
}
