//! The protocol between a command and the recorder in a process to which the command attaches.
//!
//! The command loads the recorder into the process, interrupts one of the process's threads, and
//! calls the functions named here on that thread. Before each call it writes the arguments into the
//! process's memory. It gets the result of the call, and reads [`State`]. The state lies in the
//! process and outlives the command. So if the command is killed, a later command finds what it has
//! left behind.
//!
//! ```text
//! RESTING --begin--> RECORDING --point--> POINTED --unpoint--> RECORDING --end--> ENDED --rest--> RESTING
//! ```
//!
//! POINTED has no value of [`State::stage`] of its own. It is RECORDING with [`State::pointed`]
//! above 0.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// The version of this protocol. A command refuses a recorder with any other.
pub const VERSION: u32 = 3;

/// The symbol of the recorder's [`State`].
pub const STATE: &str = "syncline_live_state";
/// `int syncline_live_begin(const Request *)`: begins a recording. Returns 0, or one of the
/// `REFUSED_` numbers below.
pub const BEGIN: &str = "syncline_live_begin";
/// `int syncline_live_point(Slot *slots, size_t count)`: points the slots to the recorder's
/// functions. Returns how many slots it has pointed there.
pub const POINT: &str = "syncline_live_point";
/// `int syncline_live_unpoint(int restored)`: restores the old values of all slots, and returns how
/// many it has restored. If `restored` is not 0, the command has already restored them, and the
/// function only notes that and returns 0.
pub const UNPOINT: &str = "syncline_live_unpoint";
/// `int syncline_live_end(void)`: ends the recording. Threads that are inside the recorder at that
/// moment go on with their old state.
pub const END: &str = "syncline_live_end";
/// `int syncline_live_rest(void)`: forgets the recording. Must be called only when no thread runs
/// code of the recorder.
pub const REST: &str = "syncline_live_rest";

/// A result of [`BEGIN`]: the request has another version of the protocol.
pub const REFUSED_VERSION: i32 = 1;
/// A result of [`BEGIN`]: there is a recording already, or the remains of one.
pub const REFUSED_BUSY: i32 = 2;
/// A result of [`BEGIN`]: the file could not be mapped.
pub const REFUSED_FILE: i32 = 3;

/// [`State::stage`]: nothing is recorded, and no recording was left behind.
pub const RESTING: u32 = 0;
/// [`State::stage`]: there is a recording; slots may be pointed to the recorder.
pub const RECORDING: u32 = 1;
/// [`State::stage`]: a recording has ended, and threads may still be inside the recorder.
pub const ENDED: u32 = 2;
/// [`State::stage`]: the recorder was preloaded and has recorded the program since its start.
pub const PRELOADED: u32 = 3;

/// The state of the recorder in a process. At first, all fields except the version are zero.
#[derive(Debug)]
#[repr(C)]
pub struct State {
    /// [`VERSION`]
    pub version: u32,
    /// [`RESTING`], [`RECORDING`], [`ENDED`] or [`PRELOADED`].
    pub stage: AtomicU32,
    /// The process's own number while one of the functions above runs; otherwise 0.
    pub busy: AtomicU32,
    /// The number of slots in `slots`. A slot is noted there before it is pointed to the recorder.
    /// It stays there even if it was left alone because it had an unexpected value.
    pub pointed: AtomicU32,
    /// The slots, as many as [`State::pointed`]; null before the first slot is noted.
    pub slots: AtomicPtr<Slot>,
    /// The page that was made writable to exchange slots in it, and must be made read-only again; 0
    /// if there is none. A child that is forked while the page is writable finds the page here.
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
    /// The descriptor of an empty file, open in the process for reading and writing. It may be
    /// closed after [`BEGIN`].
    pub file: i32,
    /// Whether every acquisition is timed and logged.
    pub timeline: u32,
}

/// A slot: a word of a table through which a module calls functions of other modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Slot {
    /// The address of the word.
    pub at: u64,
    /// The value that the word is expected to have. If it has another value, it is left alone.
    pub theirs: u64,
    /// The new value: the address of a function of the recorder.
    pub ours: u64,
    /// The first address of the module to which the slot belongs.
    pub module: u64,
    /// 1 if the slot's page is read-only, so that it has to be made writable for the exchange.
    pub protected: u64,
    /// 1 if the loader never unloads the slot's module.
    pub stays: u64,
}
