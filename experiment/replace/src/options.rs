//! The options that `syncline exec` passes through the environment; children inherit them.
//!
//! | variable | meaning |
//! |---|---|
//! | `SYNCLINE_LOCKS` | names of locks, joined by `+`, each for what it can replace |
//! | `SYNCLINE_POLICY` | rules that choose for each object, and then the names count for nothing |
//! | `SYNCLINE_PLACE` | where threads run |
//! | `SYNCLINE_REPLACED` | if set, what was replaced is said on standard error at the end |

use core::ffi::CStr;

use syncline_interpose::variable;

/// The names of the locks; none without the variable, and then nothing is replaced.
pub fn locks() -> &'static [u8] {
    variable(c"SYNCLINE_LOCKS").map_or(b"", CStr::to_bytes)
}

/// The policy's rules; none without the variable.
pub fn policy() -> &'static [u8] {
    variable(c"SYNCLINE_POLICY").map_or(b"", CStr::to_bytes)
}

/// Where threads run; nothing without the variable.
pub fn place() -> &'static [u8] {
    variable(c"SYNCLINE_PLACE").map_or(b"", CStr::to_bytes)
}

/// Whether to say at the end what was replaced.
pub fn report() -> bool {
    variable(c"SYNCLINE_REPLACED").is_some()
}
