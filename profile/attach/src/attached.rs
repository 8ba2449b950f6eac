//! Attaches the recorder to a process and detaches it, step by step.

use std::fs::File;
use std::io::ErrorKind;
use std::mem::offset_of;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use syncline_recording::live::{
    BEGIN, END, ENDED, POINT, PRELOADED, RECORDING, REST, RESTING, Request, STATE, Slot, State,
    UNPOINT, VERSION,
};

use crate::borrow::Borrowed;
use crate::children::{self, Children, Copy as OwnCopy};
use crate::claim::Claim;
use crate::handover::{close, give, in_memory};
use crate::memory::Memory;
use crate::modules::Module;
use crate::others;
use crate::refusal::{Error, Refusal};
use crate::slots;
use crate::symbols::Symbols;
use crate::target::Target;
use crate::{modules, quiet, restore, safe, seccomp, target};

/// After a module was loaded, slots are searched this many times. Once is not enough, because the
/// loader first lists a module and fills its tables later.
const LOOKS: u32 = 3;
/// A process that has just begun may take this long until it can be attached to.
const STARTING: Duration = Duration::from_secs(2);
/// The pause between two attempts to attach during that time.
const PAUSE: Duration = Duration::from_millis(5);
/// The offset, in the recorder's state, of the word that says which process runs one of the
/// recorder's functions.
const BUSY: u64 = offset_of!(State, busy) as u64;
const NOW_AND_FOR_EVER: u64 = (libc::RTLD_NOW | libc::RTLD_NODELETE) as u64;

/// What to record, and how.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The path of the recorder's library.
    pub library: &'a Path,
    /// An empty file, to which the process will write.
    pub file: &'a File,
    /// [`syncline_recording::layout::Header::clock`]
    pub clock: u32,
    /// [`syncline_recording::layout::Header::ticks_per_second`]
    pub ticks_per_second: u64,
    /// The most bytes that the file may have.
    pub max_size: u64,
    /// Whether every acquisition is timed and logged.
    pub timeline: bool,
}

/// A process that is being recorded.
pub struct Attached {
    _claim: Claim,
    target: Target,
    recorder: Recorder,
    /// The process's copy of the recorder, by which its forked children are found; `None` if it
    /// could not be identified.
    copy: Option<OwnCopy>,
    /// How many slots were pointed to the recorder.
    pub slots: usize,
    /// The modules that were loaded at the last check, as in [`modules::loaded`].
    seen: Vec<(u64, u64)>,
    /// How many more times slots are to be searched.
    looks: u32,
}

/// The result of [`Attached::detach`].
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// For how long the process's threads were stopped since [`Attached::new`], added up over the
    /// threads.
    pub stopped: Duration,
    /// How many slots got their old values back.
    pub slots: usize,
    /// Whether no thread was inside the recorder any more, so that its memory was released. If
    /// false, the next command that attaches releases it.
    pub forgotten: bool,
    /// What happened to the children that the process forked while it was being recorded.
    pub children: Children,
}

/// Addresses of the recorder in the process: its first one, its state, and its functions
/// (`syncline_recording::live`).
#[derive(Clone, Copy)]
struct Recorder {
    start: u64,
    state: u64,
    begin: u64,
    point: u64,
    unpoint: u64,
    end: u64,
    rest: u64,
}

impl Recorder {
    /// Finds the recorder in a process; `None` if there is none.
    fn find(target: &Target) -> Result<Option<Recorder>, Error> {
        for module in target.modules.iter().rev() {
            let Ok(symbols) = Symbols::of(module) else { continue };
            let Some(state) = symbols.find(STATE) else { continue };
            let version = target.memory.word(state).unwrap_or(0) as u32;
            let find = |name| symbols.find(name).ok_or(Refusal::Version(target.pid));
            if version != VERSION {
                return Err(Refusal::Version(target.pid).into());
            }
            return Ok(Some(Recorder {
                start: module.range.start,
                state,
                begin: find(BEGIN)?,
                point: find(POINT)?,
                unpoint: find(UNPOINT)?,
                end: find(END)?,
                rest: find(REST)?,
            }));
        }
        Ok(None)
    }

    /// The recorder's module among those of the process.
    fn module<'a>(&self, target: &'a Target) -> Result<&'a Module, Error> {
        let is_it = |module: &&Module| module.range.start == self.start;
        target.modules.iter().find(is_it).ok_or(Error::Gone(target.pid))
    }

    fn stage(&self, memory: Memory) -> u32 {
        (memory.word(self.state).unwrap_or(0) >> 32) as u32
    }

    /// Notes that none of the recorder's functions runs, after a call of one was given up.
    fn is_free(&self, memory: Memory) -> Result<(), Error> {
        let failed = |source| Error::System { what: "write to the process", source };
        memory.write(self.state + BUSY, &[0; 4]).map_err(failed)
    }

    /// Detaches the recorder from the forked children of a process, which have the same `copy` of
    /// it.
    fn leave_children(self, copy: Option<&OwnCopy>) -> Children {
        let is_recorded = |pid| self.stage(Memory(pid)) == RECORDING;
        let leave = |child: &Target| leave(child, self).map(drop);
        copy.map(|copy| children::leave(copy, is_recorded, leave)).unwrap_or_default()
    }
}

impl Attached {
    /// Attaches the recorder to a process. Before that, cleans up what a killed command may have
    /// left there.
    ///
    /// # Errors
    /// [`Error::Refused`] if the process can't be attached to, in which case nothing in it was
    /// changed. Other errors if a step fails.
    pub fn new(pid: u32, wanted: &Wanted<'_>) -> Result<Attached, Error> {
        let until = Instant::now() + STARTING;
        loop {
            let before = target::auxiliary_vector(pid);
            // A process that has just begun is often a shell that is about to execute another
            // program, or its loader has not mapped the C library yet. So for some errors the
            // attempt is repeated.
            let starts = |error: &Error| {
                let now = target::auxiliary_vector(pid);
                let another = now != before && !now.is_empty();
                another
                    || match error {
                        Error::Executed(_) | Error::Lacks { .. } => true,
                        // The headers or the tables of a module are not mapped yet.
                        Error::System { source, .. } => source.kind() == ErrorKind::NotFound,
                        _ => false,
                    }
            };
            match Attached::to(pid, wanted) {
                Err(error) if starts(&error) && Instant::now() < until => sleep(PAUSE),
                result => return result,
            }
        }
    }

    fn to(pid: u32, wanted: &Wanted<'_>) -> Result<Attached, Error> {
        let mut target = Target::find(pid)?;
        let claim = Claim::new(&target)?;
        seccomp::check(&target)?;
        let recorder = match Recorder::find(&target)? {
            Some(recorder) => {
                let stage = recorder.stage(target.memory);
                if stage == PRELOADED {
                    return Err(Refusal::Preloaded(pid).into());
                }
                if stage != RESTING {
                    leave(&target, recorder)?;
                    recorder.leave_children(OwnCopy::of(pid, recorder.start).as_ref());
                }
                recorder
            }
            None => {
                open(&target, wanted.library)?;
                target.look_again()?;
                let lost = Error::Loader { pid, why: "it is not among the modules".to_owned() };
                Recorder::find(&target)?.ok_or(lost)?
            }
        };
        let found = slots::find(target.memory, &target.modules, recorder.start)?;
        let mut borrowed = safe::borrow(&target)?;
        let file = give(&mut borrowed, target.memory, wanted.file)?;
        let request = Request {
            version: VERSION,
            clock: wanted.clock,
            ticks_per_second: wanted.ticks_per_second,
            max_size: wanted.max_size,
            pointers_missed: found.pointers,
            file,
            timeline: wanted.timeline.into(),
        };
        let room = borrowed.room();
        put(&target, room, &request)?;
        let begun = borrowed.call("the recorder's begin", recorder.begin, [room, 0, 0])? as i32;
        close(&mut borrowed, file)?;
        if begun != 0 {
            let why = format!("it returned {begun}");
            return Err(Error::Failed { pid, what: "the recorder's begin", why });
        }
        let slots = match point(&mut borrowed, &target, recorder, &found.slots) {
            Ok(slots) => slots,
            Err(error) => {
                drop(borrowed);
                // If this fails as well, the next command that attaches cleans up.
                let _ = leave(&target, recorder);
                return Err(error);
            }
        };
        borrowed.give_back()?;
        let seen = modules::loaded(target.memory).unwrap_or_default();
        let copy = OwnCopy::of(pid, recorder.start);
        Ok(Attached { _claim: claim, target, recorder, copy, slots, seen, looks: LOOKS })
    }

    /// Points the slots of newly loaded modules to the recorder, and returns how many slots these
    /// were, usually none. The caller must call this again and again while it records.
    ///
    /// # Errors
    /// Same errors as [`Attached::new`]. After an error, the call may be repeated.
    pub fn follow(&mut self) -> Result<usize, Error> {
        let gone = |_| Error::Gone(self.target.pid);
        let now = modules::loaded(self.target.memory).map_err(gone)?;
        if now != self.seen {
            (self.seen, self.looks) = (now, LOOKS);
        }
        if self.looks == 0 {
            return Ok(0);
        }
        self.target.look_again()?;
        let memory = self.target.memory;
        let found = slots::find(memory, &self.target.modules, self.recorder.start)?;
        let mut pointed = 0;
        if !found.slots.is_empty() {
            let mut borrowed = safe::borrow(&self.target)?;
            pointed = point(&mut borrowed, &self.target, self.recorder, &found.slots)?;
            borrowed.give_back()?;
        }
        self.looks -= 1;
        self.slots += pointed;
        Ok(pointed)
    }

    /// For how long the process's threads have been stopped, added up over the threads. Threads
    /// were stopped to be borrowed (even if they could not be borrowed after all), to read their
    /// seccomp filters, and, if the loader's lock was not available, to restore slots. The time
    /// includes cleaning up after a killed command, but not threads of forked children.
    pub fn stopped(&self) -> Duration {
        self.target.stopped()
    }

    /// Whether the process still exists and runs the program to which the recorder was attached.
    pub fn goes_on(&self) -> bool {
        self.target.runs_same_program() && self.target.memory.word(self.recorder.state).is_ok()
    }

    /// Ends the recording and restores what was changed in the process and in the children that it
    /// has forked.
    ///
    /// # Errors
    /// [`Error::Gone`] if the process has ended or runs another program, in which case its
    /// recording is complete. Other errors if a step fails; the next command that attaches cleans
    /// up. In all cases, the recorder was detached from the forked children as far as possible.
    pub fn detach(self) -> Result<Left, Error> {
        // The process itself comes first. Otherwise it could fork more recorded children in the
        // meantime.
        let left = match self.goes_on() {
            true => leave(&self.target, self.recorder),
            false => Err(Error::Gone(self.target.pid)),
        };
        let children = self.recorder.leave_children(self.copy.as_ref());
        Ok(Left { stopped: self.target.stopped(), children, ..left? })
    }
}

/// Makes the process's loader open the recorder's library.
fn open(target: &Target, library: &Path) -> Result<(), Error> {
    let failed = |source| Error::System { what: "write to the process", source };
    let library = in_memory(library)?;
    let mut borrowed = safe::borrow(target)?;
    // This call finds out whether the loader's lock is available. `dlopen` needs the lock while it
    // changes things, and must not be given up in the middle of that.
    borrowed.call(
        "dl_iterate_phdr",
        target.dl_iterate_phdr,
        [borrowed.function_returning_one(), 0, 0],
    )?;
    let descriptor = give(&mut borrowed, target.memory, &library)?;
    let room = borrowed.room();
    let path = format!("/proc/self/fd/{descriptor}\0");
    target.memory.write(room, path.as_bytes()).map_err(failed)?;
    let handle = borrowed.call("dlopen", target.dlopen, [room, NOW_AND_FOR_EVER, 0])?;
    let why = if handle == 0 {
        let text = borrowed.call("dlerror", target.dlerror, [0; 3])?;
        Some(target.memory.text(text).unwrap_or_else(|_| "it does not say why".to_owned()))
    } else {
        None
    };
    close(&mut borrowed, descriptor)?;
    borrowed.give_back()?;
    match why {
        Some(why) => Err(Error::Loader { pid: target.pid, why }),
        None => Ok(()),
    }
}

/// Points slots to the recorder, as many at a time as there is room for. Returns how many slots it
/// has pointed there.
fn point(
    borrowed: &mut Borrowed<'_>,
    target: &Target,
    recorder: Recorder,
    slots: &[Slot],
) -> Result<usize, Error> {
    let failed = |source| Error::System { what: "write to the process", source };
    let mut pointed = 0;
    for part in slots.chunks(Borrowed::ROOM_BYTES / size_of::<Slot>()) {
        let room = borrowed.room();
        // SAFETY: slots consist of words only, without padding.
        let bytes =
            unsafe { std::slice::from_raw_parts(part.as_ptr().cast::<u8>(), size_of_val(part)) };
        target.memory.write(room, bytes).map_err(failed)?;
        let arguments = [room, part.len() as u64, 0];
        let result = borrowed.call("the recorder's point", recorder.point, arguments);
        if let Err(Error::Held { .. }) = result {
            recorder.is_free(target.memory)?;
        }
        pointed += result? as usize;
    }
    Ok(pointed)
}

/// Restores the old values of all slots, and returns how many. If the process has other threads,
/// the recorder does so. But the recorder needs the loader's lock, which may be held for ever in a
/// forked child. In that case, or if there is no other thread, this command restores the values
/// while no other thread runs.
fn unpoint(
    borrowed: &mut Borrowed<'_>,
    target: &Target,
    recorder: Recorder,
) -> Result<usize, Error> {
    const WHAT: &str = "the recorder's unpoint";
    let mut stopped = None;
    if !others::of(target.pid, borrowed).is_empty() {
        match borrowed.call(WHAT, recorder.unpoint, [0; 3]) {
            Err(Error::Held { .. }) => {
                recorder.is_free(target.memory)?;
                stopped = Some(others::stop(target, borrowed)?);
            }
            result => return result.map(|slots| slots as usize),
        }
    }
    let restored = restore::all(borrowed, target.memory, recorder.state)?;
    drop(stopped);
    borrowed.call(WHAT, recorder.unpoint, [1, 0, 0])?;
    Ok(restored)
}

/// Ends the recording of a process, whatever state it is in. Releases the recorder's memory if no
/// thread is inside the recorder any more.
fn leave(target: &Target, recorder: Recorder) -> Result<Left, Error> {
    let mut left = Left { forgotten: true, ..Left::default() };
    if recorder.stage(target.memory) == RESTING {
        return Ok(left);
    }
    let mut borrowed = safe::borrow(target)?;
    left.slots = unpoint(&mut borrowed, target, recorder)?;
    borrowed.call("the recorder's end", recorder.end, [0; 3])?;
    borrowed.give_back()?;
    let module = recorder.module(target)?;
    left.forgotten = quiet::wait(target.pid, &module.range);
    if left.forgotten && recorder.stage(target.memory) == ENDED {
        let mut borrowed = safe::borrow(target)?;
        borrowed.call("the recorder's rest", recorder.rest, [0; 3])?;
        // This comes last, because the steps before run code in these pages.
        give_pages_back(&mut borrowed, module)?;
        borrowed.give_back()?;
    }
    Ok(left)
}

/// Releases the memory of those pages of the recorder that are the same as in its file, which are
/// code and constants. If they are accessed again, the kernel reads them from the file.
fn give_pages_back(borrowed: &mut Borrowed<'_>, recorder: &Module) -> Result<(), Error> {
    const PAGE: u64 = 4096;
    for part in recorder.constant() {
        let start = part.start & !(PAGE - 1);
        let arguments = [start, part.end - start, libc::MADV_DONTNEED as u64, 0];
        borrowed.system_call("madvise", libc::SYS_madvise, arguments)?;
    }
    Ok(())
}

fn put(target: &Target, at: u64, request: &Request) -> Result<(), Error> {
    // SAFETY: the request consists of words only, without padding.
    let bytes = unsafe {
        std::slice::from_raw_parts((&raw const *request).cast::<u8>(), size_of::<Request>())
    };
    let failed = |source| Error::System { what: "write to the process", source };
    target.memory.write(at, bytes).map_err(failed)
}
