//! A process of a recording as plain data, after it was read.

use std::path::PathBuf;

use crate::layout::{
    self, EventRecord, Header, ModuleRecord, NestRecord, STACK_FRAMES, StackRecord, ThreadRecord,
    WaitRecord,
};
use crate::op::Op;
use crate::windows::Windows;

/// A row, with its waits if it has any.
#[derive(Clone, Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The counters.
    pub counts: layout::Row,
    /// The waits.
    pub waits: Option<Box<WaitRecord>>,
    /// The locks that were held already, if there were any.
    pub nest: Option<Box<NestRecord>>,
    /// Whether its thread took more locks by this call than get rows of their own. Then the
    /// distribution of its calls over the locks is an estimate, and some locks may be missing.
    pub sampled: bool,
}

/// A thread and its rows.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its index in the file, by which others refer to it.
    pub index: u32,
    /// The record.
    pub record: ThreadRecord,
    /// Its rows, in no order.
    pub rows: Vec<Row>,
    /// The events that its log kept, in the order in which they ended; none if the file was read
    /// without logs.
    pub log: Vec<EventRecord>,
    /// The stretches of the run of which the log has all events.
    pub windows: Windows,
}

/// Everything that a file holds of one process.
#[derive(Clone, Debug)]
pub struct ProcessFile {
    /// The file that it was read from; for a forked child, followed by `#` and the page of its
    /// header.
    pub path: PathBuf,
    /// Its header.
    pub header: Header,
    /// When it was read, in ticks, if its process still ran then.
    pub now: Option<u64>,
    /// The code that was mapped.
    pub modules: Vec<ModuleRecord>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The stacks; number `n` is at index `n`. Index 0 and the indices of other processes' stacks
    /// hold empty ones.
    pub stacks: Vec<StackRecord>,
}

impl ProcessFile {
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

    /// When the process ended, in ticks; when it was read, if it still ran then; or when it last
    /// recorded something, if it could not note its end.
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

/// The text up to the first zero byte, or the whole field if it has none.
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
}
