//! Reads the file of a process, which may have any content.
//!
//! The file may be cut short, damaged, of another kind, or still being written. So it is read with
//! ordinary reads and not mapped. [`Source`] and [`records`] check every offset and count against
//! the file's real size, and return an [`Error`] for anything that makes no sense.

use std::path::{Path, PathBuf};

use syncline_recording::folder::files;
use syncline_recording::layout::ModuleRecord;
use syncline_recording::source::Source;
use syncline_recording::{Error, check_answers, text};

use crate::layout::{
    CountRecord, Header, MAGIC, ObjectRecord, RECORD_COUNT, RECORD_SECTION, RECORD_STACK,
    SectionRecord, StackRecord, StepRecord, SystemCallRecord, ThreadRecord, VERSION, WordRecord,
};
use crate::packed::{Arrays, Reading};
use crate::records::{self, Record};

/// A thread of the file.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its index in the file, by which other records refer to it.
    pub index: u32,
    /// The record.
    pub record: ThreadRecord,
}

impl Thread {
    /// The name.
    pub fn name(&self) -> String {
        text(&self.record.name)
    }
}

/// A section and its arrays.
#[derive(Clone, Debug)]
pub struct Section {
    /// The index of the thread that executed it.
    pub thread: u32,
    /// The record.
    pub record: SectionRecord,
    /// The blocks of the heap that it touched, and the block that contains its lock.
    pub objects: Box<[ObjectRecord]>,
    /// Its address set.
    pub words: Box<[WordRecord]>,
    /// The instructions that it executed, each once, in the order of their addresses.
    pub steps: Box<[StepRecord]>,
    /// Its system calls.
    pub system_calls: Box<[SystemCallRecord]>,
}

/// A part of a stack, as it was after a section had written to it.
#[derive(Clone, Debug)]
pub struct StackPart {
    /// Its first address.
    pub start: u64,
    /// The address of the word that was written.
    pub written: u64,
    /// The words from `start` on.
    pub words: Box<[u64]>,
}

/// The content of the file of a process.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The path of the file.
    pub path: PathBuf,
    /// The file's header.
    pub header: Header,
    /// The modules that were mapped.
    pub modules: Vec<ModuleRecord>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The sections. Those of one thread are in the order in which they were written.
    pub sections: Vec<Section>,
    /// The counts of acquisitions, each with the index of the thread.
    pub counts: Vec<(u32, CountRecord)>,
    /// The parts of stacks to which sections of other threads wrote.
    pub stacks: Vec<StackPart>,
    /// The number of sections at the end of the file that were left out because there was no more
    /// memory for them.
    pub left_out: u64,
}

impl Section {
    /// How many bytes the section takes in memory.
    fn size(&self) -> u64 {
        let arrays =
            size_of_val(&*self.words) + size_of_val(&*self.steps) + size_of_val(&*self.objects);
        (size_of::<Section>() + arrays + size_of_val(&*self.system_calls)) as u64
    }
}

impl Trace {
    /// Reads the file, which is possible even while its process runs.
    ///
    /// # Errors
    /// [`Error`], if the file can't be read or is not a trace that this version understands. Damage
    /// is noticed if it makes the structure unreadable, but not if it only changes a value.
    pub fn open(path: &Path) -> Result<Trace, Error> {
        Trace::open_within(path, u64::MAX, &mut |_, _| {})
    }

    /// Like [`Trace::open`], but reads no more sections when those that were read take `memory`
    /// bytes. So the trace has the first sections in the file, which are roughly the first of the
    /// run, but all counts and stacks. `progress` is called for each chunk, with the number of
    /// bytes that have been read and that of all chunks.
    ///
    /// # Errors
    /// Same errors as [`Trace::open`].
    pub fn open_within(
        path: &Path,
        memory: u64,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Trace, Error> {
        let source = Source::open(path)?;
        let header: Header = source.first_page(MAGIC, VERSION)?;
        let mut modules = source.region::<ModuleRecord>(&header.modules, "modules")?;
        // The reading copies a record from its beginning on, and the writer fills in the first word
        // last (a Release in `File::module`): a record that has the word is whole.
        modules.retain(|module| module.start != 0);
        let records = source.region::<ThreadRecord>(&header.threads, "threads")?;
        let threads = records.iter().enumerate().filter(|(_, record)| record.tid != 0);
        let threads = threads.map(|(i, &record)| Thread { index: i as u32, record }).collect();
        let (mut sections, mut counts, mut stacks) = (Vec::new(), Vec::new(), Vec::new());
        let mut reading = Reading::default();
        let (mut taken, mut left_out, mut read) = (0_u64, 0, 0);
        records::for_each(&source, &header, |Record { thread, is_first, kind, bytes }| {
            if is_first {
                reading = Reading::default();
            }
            read += bytes.len() as u64;
            if is_first {
                progress(read, header.arena_used);
            }
            match kind {
                RECORD_SECTION if taken >= memory => left_out += 1,
                RECORD_SECTION => {
                    let section = section(thread, bytes, &mut reading)
                        .ok_or_else(|| source.damaged("a section is not as long as it says"))?;
                    taken = taken.saturating_add(section.size());
                    sections.push(section);
                }
                RECORD_COUNT => counts.push((
                    thread,
                    bytemuck::try_pod_read_unaligned(bytes)
                        .map_err(|_| source.damaged("a count's record has an unexpected size"))?,
                )),
                RECORD_STACK => stacks
                    .push(stack(bytes).ok_or_else(|| {
                        source.damaged("a stack's record has an unexpected size")
                    })?),
                _ => {}
            }
            Ok(())
        })?;
        let path = path.to_owned();
        Ok(Trace { path, header, modules, threads, sections, counts, stacks, left_out })
    }

    /// Reads only the file's header.
    ///
    /// # Errors
    /// Same errors as [`Trace::open`].
    pub fn header_of(path: &Path) -> Result<Header, Error> {
        Source::open(path)?.first_page(MAGIC, VERSION)
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

    /// Why the program was left alone; `None` if it was not.
    pub fn left_alone(&self) -> Option<String> {
        let why = text(&self.header.left_alone);
        (!why.is_empty()).then_some(why)
    }

    /// When the process ended, in ticks; if it did not note its end, when it was last known to be
    /// alive.
    pub fn ended(&self) -> u64 {
        if self.header.ended != 0 {
            return self.header.ended;
        }
        let threads = self.threads.iter().map(|t| t.record.ended);
        let sections = self.sections.iter().map(|s| s.record.released);
        let seen = threads.chain(sections).chain([self.header.alive, self.header.started]);
        seen.max().unwrap_or(0)
    }

    /// Converts ticks to seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.header.ticks_per_second as f64
    }
}

fn section(thread: u32, bytes: &[u8], reading: &mut Reading) -> Option<Section> {
    let (record, Arrays { objects, words, steps, system_calls }) = reading.read(bytes)?;
    Some(Section { thread, record, objects, words, steps, system_calls })
}

fn stack(bytes: &[u8]) -> Option<StackPart> {
    let (record, words) = bytes.split_at_checked(size_of::<StackRecord>())?;
    let StackRecord { start, written } = bytemuck::try_pod_read_unaligned(record).ok()?;
    let (words, rest) = words.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    rest.is_empty().then_some(StackPart { start, written, words })
}

/// The files of a trace's processes, in the order of their names. The trace may be a folder or a
/// single file. If it is a folder without such files, the list is empty.
///
/// # Errors
/// [`Error::Io`], or [`Error::Refused`] if the last run recorded nothing, so that the files are
/// those of an earlier run.
pub fn trace_files(trace: &Path) -> Result<Vec<PathBuf>, Error> {
    check_answers(trace)?;
    files(trace, "trace")
}
