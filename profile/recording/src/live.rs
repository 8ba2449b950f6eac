//! The protocol between a command and the recorder in a process that it attaches to.
//!
//! The command opens the recorder in the process and calls the functions that are named here, on a
//! thread that it has borrowed. The command first writes their arguments into the process's memory,
//! and reads the results in [`State`]. This lies in the process and outlives the command, so
//! another command finds what a killed one has left.
//!
//! ```text
//! RESTING --begin--> RECORDING --point--> POINTED --unpoint--> RECORDING --end--> ENDED --rest--> RESTING
//! ```

use core::sync::atomic::{AtomicPtr, AtomicU32};

/// The version of this protocol. A command takes no other.
pub const VERSION: u32 = 2;

/// The recorder's [`State`].
pub const STATE: &str = "syncline_live_state";
/// `int syncline_live_begin(const Request *)`: begins a recording; 0, or one of
/// the `REFUSED_` numbers below.
pub const BEGIN: &str = "syncline_live_begin";
/// `int syncline_live_point(Slot *slots, size_t count)`: points the slots to the recorder's functions,
/// and returns how many it pointed.
pub const POINT: &str = "syncline_live_point";
/// `int syncline_live_unpoint(int restored)`: restores the old values of all slots, and returns how many;
/// with 1, the command has restored them itself.
pub const UNPOINT: &str = "syncline_live_unpoint";
/// `int syncline_live_end(void)`: ends the recording; threads inside continue with their old state.
pub const END: &str = "syncline_live_end";
/// `int syncline_live_rest(void)`: forgets the recording, once no thread runs code of the recorder.
pub const REST: &str = "syncline_live_rest";
/// Where slots of `dlsym` are pointed.
pub const DLSYM: &str = "syncline_live_dlsym";

/// [`BEGIN`]: the request is of another version.
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
/// [`State::stage`]: the program records since its start.
pub const PRELOADED: u32 = 3;

/// The state of the recorder. All zero is its first state.
#[derive(Debug)]
#[repr(C)]
pub struct State {
    /// [`VERSION`]
    pub version: u32,
    /// [`RESTING`] and so on.
    pub stage: AtomicU32,
    /// The process's own number while one of the functions runs; 0 otherwise.
    pub busy: AtomicU32,
    /// Slots that point to the recorder.
    pub pointed: AtomicU32,
    /// Their notes, [`State::pointed`] of them; null before the first.
    pub slots: AtomicPtr<Slot>,
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
    /// Bytes that the file may become.
    pub max_size: u64,
    /// [`crate::layout::Header::pointers_missed`]
    pub pointers_missed: u64,
    /// An empty file, open in the process for reading and writing. It may be closed afterwards.
    pub file: i32,
    /// Whether every acquisition is timed and logged.
    pub timeline: u32,
}

/// A word of a table by which a module calls others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Slot {
    /// Its address.
    pub at: u64,
    /// The value that it has. If it has another value by then, it stays as it is.
    pub theirs: u64,
    /// Its new value: a function of the recorder.
    pub ours: u64,
    /// First address of the module that it belongs to.
    pub module: u64,
    /// 1 if its page can only be read, and has to be made writable and back.
    pub protected: u64,
}
