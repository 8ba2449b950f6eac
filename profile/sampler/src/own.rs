//! The numbers that threads have for themselves, in their own namespace.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use syncline_recording::numbers;

use crate::asleep::Thread;

/// The own numbers of the threads that were seen. Only those of threads in another namespace are
/// stored, because only these differ from the numbers in this namespace.
#[derive(Default)]
pub struct OwnNumbers {
    /// For each process its own number, or `None` if it is in this namespace.
    processes: HashMap<u32, Option<u32>>,
    threads: HashMap<Thread, Thread>,
}

impl OwnNumbers {
    /// Notes the own numbers of a living thread and its process.
    pub fn note(&mut self, thread: Thread) {
        let own = |folder: String| numbers::own(Path::new(&folder));
        let process = match self.processes.entry(thread.0) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let Some((pid, elsewhere)) = own(format!("/proc/{}", thread.0)) else { return };
                *new.insert(elsewhere.then_some(pid))
            }
        };
        if let Some(pid) = process
            && !self.threads.contains_key(&thread)
            && let Some((tid, _)) = own(format!("/proc/{}/task/{}", thread.0, thread.1))
        {
            self.threads.insert(thread, (pid, tid));
        }
    }

    /// The own numbers of a thread and its process; `None` if they are unknown.
    pub fn of(&self, thread: Thread) -> Option<Thread> {
        match self.processes.get(&thread.0)? {
            Some(_) => self.threads.get(&thread).copied(),
            None => Some(thread),
        }
    }
}
