//! Reads the file of one process, whatever its bytes are.
//!
//! The file may be cut short, foreign, damaged, or still being written. So it is read with ordinary
//! reads and never mapped, every offset and count is checked against the file's real size, and
//! implausible values are an [`Error`]; [`Source`] and [`records`] do that.

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
    /// Its index in the file, by which records refer to it.
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

/// A section, with its arrays.
#[derive(Clone, Debug)]
pub struct Section {
    /// Index of the thread that executed it.
    pub thread: u32,
    /// The record.
    pub record: SectionRecord,
    /// Blocks of the heap that it touched.
    pub objects: Box<[ObjectRecord]>,
    /// Its address set.
    pub words: Box<[WordRecord]>,
    /// The instructions that it executed, each once, in the order of their addresses.
    pub steps: Box<[StepRecord]>,
    /// Its system calls.
    pub system_calls: Box<[SystemCallRecord]>,
}

/// A part of a stack, as it was after a section wrote to it.
#[derive(Clone, Debug)]
pub struct StackPart {
    /// Its first address.
    pub start: u64,
    /// The word that was written to.
    pub written: u64,
    /// The words from `start` on.
    pub words: Box<[u64]>,
}

/// The contents of one process's file.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The path of the file.
    pub path: PathBuf,
    /// The first page.
    pub header: Header,
    /// The modules that were mapped.
    pub modules: Vec<ModuleRecord>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The sections. Those of one thread are in the order in which they were written.
    pub sections: Vec<Section>,
    /// The counts of acquisitions, each with the index of the thread that made them.
    pub counts: Vec<(u32, CountRecord)>,
    /// Parts of stacks that sections of other threads wrote to.
    pub stacks: Vec<StackPart>,
    /// The number of sections at the end of the file that were left out because they exceeded the
    /// given memory.
    pub left_out: u64,
}

impl Section {
    /// The bytes that it takes in memory.
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
    /// is noticed only if it makes the structure unreadable; an overwritten value is not noticed.
    pub fn open(path: &Path) -> Result<Trace, Error> {
        Trace::open_within(path, u64::MAX, &mut |_, _| {})
    }

    /// Like [`Trace::open`], but stops reading sections once they take `memory` bytes: it has the
    /// first ones in the file, which are roughly the first of the run. All counts and stacks are
    /// read. `progress` is called in each chunk with the bytes of records read so far, and the
    /// bytes of all chunks.
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
                        .map_err(|_| source.damaged("a count has an unknown size"))?,
                )),
                RECORD_STACK => stacks.push(
                    stack(bytes).ok_or_else(|| source.damaged("a stack has an unknown size"))?,
                ),
                _ => {}
            }
            Ok(())
        })?;
        let path = path.to_owned();
        Ok(Trace { path, header, modules, threads, sections, counts, stacks, left_out })
    }

    /// Reads only the first page.
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

    /// The program's arguments, including its name, without empty ones at the end.
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

    /// When the process ended, or was last seen if it did not note its end, in ticks.
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

/// The process files of a trace, in the order of their names. The trace may be a folder or one
/// process file; the list is empty if the folder has none.
///
/// # Errors
/// [`Error::Io`], or [`Error::Refused`] if the last run recorded nothing, so that the files are
/// from an earlier one.
pub fn trace_files(trace: &Path) -> Result<Vec<PathBuf>, Error> {
    check_answers(trace)?;
    files(trace, "trace")
}
