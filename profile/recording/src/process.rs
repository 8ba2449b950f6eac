//! A process of a recording as plain data, as the reader returns it.

use std::path::PathBuf;

use crate::layout::{
    self, EventRecord, Header, ModuleRecord, NestRecord, STACK_FRAMES, StackRecord, ThreadRecord,
    WaitRecord,
};
use crate::op::Op;
use crate::windows::Windows;

/// A row, together with its wait record and its nest record.
#[derive(Clone, Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The counters.
    pub counts: layout::Row,
    /// The waits; `None` if there were none.
    pub waits: Option<Box<WaitRecord>>,
    /// The locks that the thread already held; `None` if it was never found to hold any.
    pub nest: Option<Box<NestRecord>>,
    /// Whether the thread used more locks at this call site than get rows of their own. If so, the
    /// distribution of the calls over the locks is an estimate, and some locks may be missing.
    pub sampled: bool,
}

impl Row {
    /// How many tries were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.waits.as_deref().map_or(0, |waits| waits.refused)
    }
}

/// A thread, its rows and its events.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its index in the file, by which other records refer to it.
    pub index: u32,
    /// The record.
    pub record: ThreadRecord,
    /// Its rows, in no order.
    pub rows: Vec<Row>,
    /// The events that its log kept, in the order in which they ended; empty if the file was read
    /// without logs.
    pub log: Vec<EventRecord>,
    /// The parts of the run whose events the log has completely.
    pub windows: Windows,
}

/// Everything that a file has about one process.
#[derive(Clone, Debug)]
pub struct ProcessFile {
    /// The path of the file that it was read from. For a forked child, `#` and the page of its
    /// header follow.
    pub path: PathBuf,
    /// Its header.
    pub header: Header,
    /// When it was read, in ticks; `None` if its process was not found running.
    pub now: Option<u64>,
    /// The modules: the code that was mapped.
    pub modules: Vec<ModuleRecord>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The stacks. The stack with the number `n` is at index `n`. At index 0 and in place of stacks
    /// of other processes there are empty ones.
    pub stacks: Vec<StackRecord>,
}

impl ProcessFile {
    /// The index in `threads` of the thread with this thread ID; `None` if there is none. If
    /// several threads had the ID one after the other, it is the index of the latest.
    pub fn place_of(&self, tid: u32) -> Option<usize> {
        self.threads.iter().rposition(|thread| thread.record.tid == tid)
    }

    /// The executable's path.
    pub fn executable(&self) -> String {
        text(&self.header.executable)
    }

    /// The program's name and arguments, without empty arguments at the end.
    pub fn arguments(&self) -> Vec<String> {
        let bytes = &self.header.arguments;
        let Some(last) = bytes.iter().rposition(|&b| b != 0) else { return Vec::new() };
        bytes[..=last].split(|&b| b == 0).map(|a| String::from_utf8_lossy(a).into_owned()).collect()
    }

    /// When the process ended, in ticks. If it still ran when it was read, the result is the time
    /// of that reading. If it ended but could not note its end, the result is the time when it last
    /// recorded something.
    pub fn ended(&self) -> u64 {
        if self.header.ended != 0 {
            return self.header.ended;
        }
        let seen = |t: &Thread| t.record.ended.max(t.record.last_seen);
        let last = self.threads.iter().map(seen).max().unwrap_or(0).max(self.header.started);
        self.now.map_or(last, |now| now.max(last))
    }

    /// Converts ticks to seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.header.ticks_per_second as f64
    }

    /// The frames of the stack of this number, innermost first; empty if there is none.
    pub fn stack(&self, number: u32) -> &[u64] {
        match self.stacks.get(number as usize) {
            Some(stack) if number != 0 => {
                &stack.frames[..usize::from(stack.depth).min(STACK_FRAMES)]
            }
            _ => &[],
        }
    }
}

/// The text up to the first zero byte, or all of it if there is none.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl ModuleRecord {
    /// The path of the file.
    pub fn path(&self) -> String {
        text(&self.path)
    }

    /// The build-id; empty if there is none.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id[..(self.build_id_len as usize).min(self.build_id.len())]
    }
}

impl ThreadRecord {
    /// The name.
    pub fn name(&self) -> String {
        text(&self.name)
    }

    /// Whether the log is full, so that it lacks the latest events.
    pub fn log_is_full(&self) -> bool {
        let slots = 1u64.checked_shl((self.log >> 48) as u32).unwrap_or(u64::MAX);
        self.log_kept > slots
    }
}
