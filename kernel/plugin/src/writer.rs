//! The thread that writes the trace. Virtual processors send it their finished sections, and go on.
//!
//! This thread looks up the objects of words, adds up acquisitions by thread, lock, call site and
//! operation, and notes the names of the allocator's caches when they first occur.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use rustc_hash::FxHashMap;
use syncline_kernel_follow::context::Finished;
use syncline_kernel_follow::words::words;
use syncline_trace::layout::{
    CountRecord, IO, NONE, ObjectRecord, RELEASED_BY_OTHER, SHARED, STOP_LIMIT, STOP_NONE,
    SectionRecord, WAITED, lock_op,
};
use syncline_trace::writer::{Contents, File, Folder, Start, Writer};

use crate::memory::Memory;

/// A processor waits if this many messages are unread.
const AHEAD: usize = 8192;
/// The clock counts instructions; a second has 10⁹ of them, as if each took a nanosecond.
const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// A message to the thread.
pub enum Message {
    /// A new thread: its number, its process number in the guest, and the tick at which it started.
    Thread(u32, u32, u64),
    /// The name of a thread, or its new name.
    Name(u32, [u8; 16]),
    /// A section that a thread has executed.
    Section(u32, Box<Finished>),
    /// The last message.
    End(u64),
}

static TO_WRITER: OnceLock<SyncSender<Message>> = OnceLock::new();
static WRITER: Mutex<Option<JoinHandle<Summary>>> = Mutex::new(None);

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Sections that were written.
    pub sections: u64,
    /// Sections for which the trace had no room.
    pub dropped: u64,
}

/// Begins to write the trace to the folder `trace`. When the trace ends, the names of caches and
/// the addresses of areas are written to `folder`.
pub fn start(trace: &Path, folder: &Path, largest: u64, memory: Memory) -> Result<(), String> {
    let (to, from) = sync_channel(AHEAD);
    let path = trace.as_os_str().as_encoded_bytes();
    let trace = Folder::new(path).ok_or("the folder's path is too long")?;
    let file = File::create(&Start {
        folder: &trace,
        max_size: largest,
        clock: 0,
        ticks_per_second: TICKS_PER_SECOND,
        started: 0,
        started_realtime: 0,
        budget_permille: 0,
        only_some: false,
    });
    let file = file.map_err(|error| format!("can't create the trace: {error}"))?;
    let (caches, places) = (folder.join("caches"), folder.join("places"));
    let writing = thread::Builder::new().name("syncline writer".to_owned()).spawn(move || {
        let mut sink = Sink::new(file, memory);
        let summary = sink.run(&from);
        // Without this file, caches are shown by their addresses.
        let _ = fs::write(caches, sink.caches());
        let _ = fs::write(places, sink.memory.places());
        summary
    });
    let writing = writing.map_err(|error| error.to_string())?;
    *WRITER.lock().expect("nothing panics with it") = Some(writing);
    TO_WRITER.set(to).map_err(|_| "a trace is being written already".to_owned())
}

/// Sends a message. Waits if the writer is far behind.
pub fn send(message: Message) {
    if let Some(to) = TO_WRITER.get() {
        // Fails if the writer has ended; then the message is of no use.
        let _ = to.send(message);
    }
}

/// Ends the trace at this tick, and waits until all of it is written.
pub fn finish(now: u64) -> Option<Summary> {
    let writing = WRITER.lock().expect("nothing panics with it").take()?;
    send(Message::End(now));
    writing.join().ok()
}

struct Sink {
    file: File,
    memory: Memory,
    /// Writers by the plugin's number of the thread.
    threads: FxHashMap<u32, Writer>,
    counts: BTreeMap<(u32, u64, u64, u32), CountRecord>,
    caches: BTreeMap<u64, (u64, String)>,
    summary: Summary,
}

impl Sink {
    fn new(file: File, memory: Memory) -> Sink {
        Sink {
            file,
            memory,
            threads: FxHashMap::default(),
            counts: BTreeMap::new(),
            caches: BTreeMap::new(),
            summary: Summary::default(),
        }
    }

    fn run(&mut self, from: &Receiver<Message>) -> Summary {
        for message in from {
            match message {
                Message::Thread(number, pid, started) => {
                    if let Some(writer) = self.file.thread(pid.max(1), 0..0, started) {
                        self.threads.insert(number, writer);
                    }
                }
                Message::Name(number, name) => {
                    if let Some(writer) = self.threads.get_mut(&number) {
                        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
                        writer.set_name_and_end(&name[..end], 0);
                    }
                }
                Message::Section(number, finished) => self.section(number, *finished),
                Message::End(now) => {
                    self.write_counts();
                    self.file.end(now);
                    return self.summary;
                }
            }
        }
        self.summary
    }

    fn section(&mut self, number: u32, mut finished: Finished) {
        self.count(number, &finished);
        let holder = self.threads.get(&finished.held.holder).map_or(NONE, Writer::index);
        let mut words = words(&mut finished.accesses);
        // The lock's own object comes first, since the lock is named by it.
        let mut objects: Vec<ObjectRecord> =
            self.memory.object(finished.held.lock).into_iter().collect();
        for word in &mut words {
            let inside = |object: &ObjectRecord| {
                (object.start..object.start + object.size).contains(&word.address)
            };
            let known = objects.iter().rposition(inside);
            let place = known.or_else(|| {
                objects.push(self.memory.object(word.address)?);
                Some(objects.len() - 1)
            });
            word.object = place.map_or(NONE, |place| place as u32);
        }
        for object in &objects {
            if !self.caches.contains_key(&object.site) {
                let name = self.memory.cache_name(object.site).unwrap_or_default();
                self.caches.insert(object.site, (object.size, name));
            }
        }
        let held = &finished.held;
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let record = SectionRecord {
            lock: held.lock,
            site: held.site,
            acquired: held.acquired,
            released: finished.released,
            waited: held.waited.unwrap_or(0),
            order: held.order,
            outer: held.outer,
            incarnation: 0,
            holder,
            flags: flag(held.waited.is_some(), WAITED)
                | flag(held.role.shared, SHARED)
                | flag(held.handed_over, RELEASED_BY_OTHER)
                | flag(held.io, IO),
            stopped: if finished.cut_off { STOP_LIMIT } else { STOP_NONE },
            op: lock_op(held.role.op(), held.role.kind.bytes()),
            instructions: finished.released.saturating_sub(held.acquired),
            memory_instructions: 0,
            allocations: 0,
            frees: 0,
            objects: 0,
            words: 0,
            steps: 0,
            system_calls: 0,
        };
        let contents = Contents { objects: &objects, words: &words, ..Contents::default() };
        let written =
            self.threads.get_mut(&number).is_some_and(|writer| writer.section(&record, &contents));
        if written {
            self.summary.sections += 1;
        } else {
            self.summary.dropped += 1;
        }
    }

    fn count(&mut self, number: u32, finished: &Finished) {
        let held = &finished.held;
        let op = lock_op(held.role.op(), held.role.kind.bytes());
        let key = (number, held.lock, held.site, op);
        let count = self.counts.entry(key).or_insert(CountRecord {
            lock: held.lock,
            site: held.site,
            acquisitions: 0,
            contended: 0,
            traced: 0,
            waited_ticks: 0,
            held_ticks: 0,
            held_samples: 0,
            op,
            reserved: 0,
        });
        count.acquisitions += 1;
        count.contended += u64::from(held.waited.is_some());
        count.traced += 1;
        count.waited_ticks += held.waited.unwrap_or(0);
        count.held_ticks += finished.released.saturating_sub(held.acquired);
        count.held_samples += 1;
    }

    fn write_counts(&mut self) {
        for ((number, ..), count) in &self.counts {
            if let Some(writer) = self.threads.get_mut(number) {
                writer.count(count);
            }
        }
    }

    /// The names of the caches, one per line: address, size of an object in bytes, name.
    fn caches(&self) -> String {
        let line =
            |(cache, (size, name)): (&u64, &(u64, String))| format!("{cache:x} {size} {name}\n");
        self.caches.iter().map(line).collect()
    }
}
