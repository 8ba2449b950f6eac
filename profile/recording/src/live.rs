//! The protocol between a command and the recorder in a process to which the command attaches.
//!
//! The command loads the recorder into the process, borrows one of the process's threads, and calls
//! the functions named here on that thread. It first writes their arguments into the process's
//! memory, and finds the results in [`State`]. The state lies in the process and outlives the
//! command, so another command finds what a killed one has left.
//!
//! ```text
//! RESTING --begin--> RECORDING --point--> POINTED --unpoint--> RECORDING --end--> ENDED --rest--> RESTING
//! ```
//!
//! [`State::stage`] has no value for POINTED: it is RECORDING with [`State::pointed`] above 0.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// The version of this protocol. A command refuses all others.
pub const VERSION: u32 = 3;

/// The symbol of the recorder's [`State`].
pub const STATE: &str = "syncline_live_state";
/// `int syncline_live_begin(const Request *)`: begins a recording. Returns 0, or one of the
/// `REFUSED_` numbers below.
pub const BEGIN: &str = "syncline_live_begin";
/// `int syncline_live_point(Slot *slots, size_t count)`: points the slots to the recorder's
/// functions. Returns how many it pointed.
pub const POINT: &str = "syncline_live_point";
/// `int syncline_live_unpoint(int restored)`: restores the old values of all slots, and returns how
/// many it restored. If `restored` is not 0, the command has already restored them, and the function
/// returns 0.
pub const UNPOINT: &str = "syncline_live_unpoint";
/// `int syncline_live_end(void)`: ends the recording. Threads inside the recorder go on with their
/// old state.
pub const END: &str = "syncline_live_end";
/// `int syncline_live_rest(void)`: forgets the recording. Called when no thread runs code of the
/// recorder.
pub const REST: &str = "syncline_live_rest";
/// The function to which slots of `dlsym` are pointed.
pub const DLSYM: &str = "syncline_live_dlsym";

/// [`BEGIN`]: the request is of another version of the protocol.
pub const REFUSED_VERSION: i32 = 1;
/// [`BEGIN`]: there is a recording, or the remains of one.
pub const REFUSED_BUSY: i32 = 2;
/// [`BEGIN`]: the file could not be mapped.
pub const REFUSED_FILE: i32 = 3;

/// [`State::stage`]: nothing is recorded, and no recording was left behind.
pub const RESTING: u32 = 0;
/// [`State::stage`]: there is a recording; slots may be pointed to the recorder.
pub const RECORDING: u32 = 1;
/// [`State::stage`]: a recording has ended, and threads may still be inside the recorder.
pub const ENDED: u32 = 2;
/// [`State::stage`]: the recorder was preloaded, and the program is recorded since its start.
pub const PRELOADED: u32 = 3;

/// The state of the recorder. It begins as all zero.
#[derive(Debug)]
#[repr(C)]
pub struct State {
    /// [`VERSION`]
    pub version: u32,
    /// [`RESTING`] and so on.
    pub stage: AtomicU32,
    /// The process's own number while one of these functions runs; 0 otherwise.
    pub busy: AtomicU32,
    /// How many slots are noted in `slots`. A slot is noted before it is pointed to the recorder,
    /// and stays noted if it had an unexpected value and was left alone.
    pub pointed: AtomicU32,
    /// The [`State::pointed`] slots; null before the first is noted.
    pub slots: AtomicPtr<Slot>,
    /// The page that is writable while its slots are exchanged, and must be made read-only again; 0
    /// if there is none. A process that is forked meanwhile finds it here.
    pub open: AtomicU64,
}

/// What to record, and how.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Request {
    /// [`VERSION`]
    pub version: u32,
    /// [`crate::layout::Header::clock`]
    pub clock: u32,
    /// [`crate::layout::Header::ticks_per_second`]
    pub ticks_per_second: u64,
    /// The most bytes that the file may have.
    pub max_size: u64,
    /// [`crate::layout::Header::pointers_missed`]
    pub pointers_missed: u64,
    /// An empty file, open in the process for reading and writing. It may be closed after
    /// [`BEGIN`].
    pub file: i32,
    /// Whether every acquisition is timed and logged.
    pub timeline: u32,
}

/// A word of a table through which a module calls functions of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Slot {
    /// Its address.
    pub at: u64,
    /// The value that is expected in it. If it has another value by then, it is left alone.
    pub theirs: u64,
    /// Its new value: a function of the recorder.
    pub ours: u64,
    /// First address of the module that it belongs to.
    pub module: u64,
    /// 1 if its page is read-only, so that it has to be made writable for the exchange.
    pub protected: u64,
    /// 1 if the loader never unloads its module.
    pub stays: u64,
}
