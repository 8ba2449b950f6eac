//! Makes traces from sections with given threads and accesses.

use bytemuck::Zeroable;
use syncline_conflicts::{Facts, Options, facts};
use syncline_recording::Op;
use syncline_trace::layout::{
    CountRecord, Header, NONE, ObjectRecord, PLAINLY_READ, PLAINLY_WRITTEN, SectionRecord,
    StepRecord, SystemCallRecord, ThreadRecord, WAITED, WordRecord,
};
use syncline_trace::{Section, Thread, Trace};

/// The address of the lock that sections acquire unless a test changes it.
pub const LOCK: u64 = 0x10_0000;
/// The call site of the sections, unless a test changes it.
pub const SITE: u64 = 0x40_1000;

/// The lowest address of the stack of a thread. Each stack has one MiB.
pub fn stack(thread: u32) -> u64 {
    0x7000_0000 + (u64::from(thread) << 20)
}

/// A section to which accesses and other properties can be added.
#[derive(Clone)]
pub struct Made(pub Section);

/// A section of a thread, without any accesses.
pub fn section(thread: u32) -> Made {
    let record = SectionRecord {
        lock: LOCK,
        site: SITE,
        holder: NONE,
        op: Op::MutexLock as u32,
        instructions: 10,
        ..SectionRecord::zeroed()
    };
    Made(Section {
        thread,
        record,
        objects: [].into(),
        words: [].into(),
        steps: [].into(),
        system_calls: [].into(),
    })
}

impl Made {
    /// Adds a read of this many bytes at an address.
    pub fn reads(self, address: u64, bytes: u64) -> Made {
        self.touches(address, bytes, None, false)
    }

    /// Adds a write of this many bytes at an address.
    pub fn writes(self, address: u64, bytes: u64) -> Made {
        self.touches(address, bytes, None, true)
    }

    /// Adds a read and a write of the word at this offset in a block of the heap.
    pub fn changes(self, object: ObjectRecord, offset: u64) -> Made {
        let address = object.start + offset;
        self.touches(address, 8, Some(object), false).touches(address, 8, Some(object), true)
    }

    fn touches(mut self, from: u64, bytes: u64, object: Option<ObjectRecord>, write: bool) -> Made {
        let mut words = self.0.words.to_vec();
        let mut objects = self.0.objects.to_vec();
        let object = object.map_or(NONE, |o| {
            let known = objects.iter().position(|&other| other == o);
            known.unwrap_or_else(|| {
                objects.push(o);
                objects.len() - 1
            }) as u32
        });
        for byte in from..from + bytes {
            let address = byte & !7;
            let known = words.iter().position(|w| w.address == address && w.object == object);
            let place = known.unwrap_or_else(|| {
                words.push(WordRecord { address, object, ..WordRecord::zeroed() });
                words.len() - 1
            });
            let word = &mut words[place];
            let (mask, instruction) = match write {
                true => (&mut word.written, &mut word.writer),
                false => (&mut word.read, &mut word.reader),
            };
            *mask |= 1 << (byte & 7);
            word.flags |= if write { PLAINLY_WRITTEN } else { PLAINLY_READ };
            *instruction = SITE + if write { 0x20 } else { 0x10 };
        }
        self.0.words = words.into();
        self.0.objects = objects.into();
        self
    }

    /// Adds a call of a function whose address is in a word of memory.
    pub fn calls_by(self, address: u64) -> Made {
        let mut made = self.touches(address, 8, None, false);
        for word in made.0.words.iter_mut().filter(|word| word.address == address) {
            word.flags &= !PLAINLY_READ;
        }
        made
    }

    /// Adds a change of a word of memory by an atomic instruction.
    pub fn adds_atomically(self, address: u64) -> Made {
        let mut made = self.touches(address, 8, None, false).touches(address, 8, None, true);
        for word in made.0.words.iter_mut().filter(|word| word.address == address) {
            word.flags &= !PLAINLY_WRITTEN;
        }
        made
    }

    /// Adds an instruction that is executed this many times. With a `range`, the instruction
    /// accesses memory outside of the stack in that range each time.
    pub fn step(mut self, address: u64, times: u32, range: Option<(u64, u64)>) -> Made {
        let (low, high) = range.unwrap_or_default();
        let accesses = if range.is_some() { times } else { 0 };
        let mut steps = self.0.steps.to_vec();
        steps.push(StepRecord { address, low, high, times, accesses });
        self.0.steps = steps.into();
        self.0.record.instructions = self.0.steps.iter().map(|s| u64::from(s.times)).sum();
        self.0.record.memory_instructions += u64::from(accesses);
        self
    }

    /// Adds the system call of this number.
    pub fn calls(mut self, number: u32) -> Made {
        let mut calls = self.0.system_calls.to_vec();
        calls.push(SystemCallRecord { number, times: 1 });
        self.0.system_calls = calls.into();
        self
    }

    /// Changes the section's record.
    pub fn with(mut self, change: impl FnOnce(&mut SectionRecord)) -> Made {
        change(&mut self.0.record);
        self
    }

    /// Sets when the lock was acquired and released, and how long the thread waited before, all in
    /// ticks.
    pub fn held(self, acquired: u64, released: u64, waited: u64) -> Made {
        self.with(|record| {
            (record.acquired, record.released, record.waited) = (acquired, released, waited);
            if waited > 0 {
                record.flags |= WAITED;
            }
        })
    }
}

/// A trace of these sections, which held their locks one after the other, in this order.
pub fn trace(sections: Vec<Made>) -> Trace {
    let mut threads: Vec<u32> = sections.iter().map(|made| made.0.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let thread = |index: u32| {
        let record = ThreadRecord {
            tid: 100 + index,
            stack_low: stack(index),
            stack_high: stack(index + 1),
            ended: 1_000_000,
            ..ThreadRecord::zeroed()
        };
        Thread { index, record }
    };
    let mut sections: Vec<Section> = sections.into_iter().map(|made| made.0).collect();
    for (order, section) in sections.iter_mut().enumerate() {
        section.record.order = order as u64;
    }
    Trace {
        left_out: 0,
        path: "1.trace".into(),
        header: Header { ticks_per_second: 1_000_000, ended: 1_000_000, ..Header::zeroed() },
        modules: Vec::new(),
        threads: threads.into_iter().map(thread).collect(),
        sections,
        counts: Vec::new(),
        stacks: Vec::new(),
    }
}

/// The counts of a lock at [`SITE`].
pub fn counted(
    lock: u64,
    acquisitions: u64,
    contended: u64,
    waited: u64,
    held: u64,
) -> CountRecord {
    CountRecord {
        lock,
        site: SITE,
        acquisitions,
        contended,
        waited_ticks: waited,
        held_ticks: held,
        held_samples: acquisitions,
        op: Op::MutexLock as u32,
        ..CountRecord::zeroed()
    }
}

/// The facts of a trace, computed with a window of 128 for 4 processors.
pub fn facts_of(trace: &Trace) -> Facts {
    facts(trace, &Options { window: 128, processors: 4 })
}

/// A block of the heap with this start, size and serial number.
pub fn block(start: u64, size: u64, serial: u64) -> ObjectRecord {
    ObjectRecord { start, size, site: 0x40_9000, serial }
}
