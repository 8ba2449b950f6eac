//! The options that `syncline record` passes through the environment, or to a process that already
//! runs (`live.rs`).
//!
//! The environment is read once, as early as possible: the program may change it later, but its
//! children have to record into the same folder. Without these variables, the library only passes
//! calls on.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};

use rustix::fd::RawFd;
use syncline_interpose::{Folder, variable};
use syncline_recording::layout::{CLOCK_MONOTONIC, CLOCK_TSC};
use syncline_recording::writer::sampling;

use crate::{clock, single};

/// The options of one recording.
#[derive(Clone, Copy)]
pub struct Options {
    /// The recording's folder.
    pub folder: Folder,
    /// An open file to use for this process, instead of one in the folder.
    pub file: Option<RawFd>,
    /// [`CLOCK_TSC`] or [`CLOCK_MONOTONIC`].
    pub clock: u32,
    /// Ticks of that clock in a second.
    pub ticks_per_second: u64,
    /// The most bytes that a process's file may have.
    pub max_size: u64,
    /// Whether every acquisition is timed and logged.
    pub timeline: bool,
}

struct Once {
    stage: AtomicU32,
    options: UnsafeCell<Options>,
}

const UNREAD: u32 = 0;
const READING: u32 = 1;
const PRESENT: u32 = 2;
const ABSENT: u32 = 3;

static OPTIONS: Once = Once {
    stage: AtomicU32::new(UNREAD),
    options: UnsafeCell::new(Options {
        folder: Folder::NONE,
        file: None,
        clock: CLOCK_TSC,
        ticks_per_second: 0,
        max_size: 0,
        timeline: false,
    }),
};

// SAFETY: the options are written by the one thread that moved the stage to READING, before it
// stores PRESENT with Release; they are read only after PRESENT was loaded with Acquire. In a
// process that is attached to, no thread runs code of ours between two recordings.
unsafe impl Sync for Once {}

/// The options; `None` if nothing is recorded, or while another thread reads them.
pub fn get() -> Option<&'static Options> {
    match OPTIONS.stage.load(Ordering::Acquire) {
        // SAFETY: see `Once`.
        PRESENT => Some(unsafe { &*OPTIONS.options.get() }),
        UNREAD => {
            let (unread, reading) = (UNREAD, READING);
            OPTIONS
                .stage
                .compare_exchange(unread, reading, Ordering::AcqRel, Ordering::Acquire)
                .ok()?;
            let options = Options::from_environment();
            let stage = if options.is_some() { PRESENT } else { ABSENT };
            if let Some(options) = options {
                set(options);
            }
            OPTIONS.stage.store(stage, Ordering::Release);
            if stage == PRESENT { get() } else { None }
        }
        _ => None,
    }
}

fn set(options: Options) {
    clock::choose(options.clock == CLOCK_MONOTONIC, options.ticks_per_second);
    sampling::choose(options.timeline);
    single::look_up();
    // SAFETY: see `Once`.
    unsafe { *OPTIONS.options.get() = options };
}

/// Begins a recording. The process has none, and no other command begins one meanwhile.
pub fn begin(options: Options) {
    OPTIONS.stage.store(READING, Ordering::Relaxed);
    set(options);
    OPTIONS.stage.store(PRESENT, Ordering::Release);
}

/// Forgets the open file: it has been mapped, and the command closes it now.
pub fn forget_file() {
    // SAFETY: called by the code that began the recording, before any call of the program leads
    // here.
    unsafe { (*OPTIONS.options.get()).file = None };
}

/// Ends the recording that [`begin`] began.
pub fn end() {
    OPTIONS.stage.store(ABSENT, Ordering::Release);
}

/// Whether every acquisition is timed and logged.
pub fn timeline() -> bool {
    get().is_some_and(|options| options.timeline)
}

impl Options {
    fn from_environment() -> Option<Options> {
        Some(Options {
            folder: Folder::from_environment([
                c"SYNCLINE_RECORDING",
                c"SYNCLINE_RECORDING_ID",
                c"SYNCLINE_RECORDING_OTHERS",
            ])?,
            file: None,
            clock: number(c"SYNCLINE_CLOCK")?.try_into().ok()?,
            ticks_per_second: number(c"SYNCLINE_TICKS_PER_SECOND").filter(|&rate| rate > 0)?,
            max_size: number(c"SYNCLINE_MAX_SIZE")?,
            timeline: number(c"SYNCLINE_TIMELINE") == Some(1),
        })
    }
}

fn number(name: &CStr) -> Option<u64> {
    variable(name)?.to_str().ok()?.parse().ok()
}
