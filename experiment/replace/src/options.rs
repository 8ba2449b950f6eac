//! The options that `syncline exec` passes through the environment; children inherit them.
//!
//! | variable | meaning |
//! |---|---|
//! | `SYNCLINE_LOCKS` | names of locks, joined by `+`; each replaces the objects that it can |
//! | `SYNCLINE_POLICY` | rules that choose a lock for each object; the names are then ignored |
//! | `SYNCLINE_PLACE` | where threads run |
//! | `SYNCLINE_REPLACED` | if set, the library reports at the end, on standard error, what it replaced |

use core::ffi::CStr;

use syncline_interpose::variable;

/// The names of the locks; empty without the variable, in which case nothing is replaced.
pub fn locks() -> &'static [u8] {
    variable(c"SYNCLINE_LOCKS").map_or(b"", CStr::to_bytes)
}

/// The policy's rules; empty without the variable.
pub fn policy() -> &'static [u8] {
    variable(c"SYNCLINE_POLICY").map_or(b"", CStr::to_bytes)
}

/// Where threads run; empty without the variable.
pub fn place() -> &'static [u8] {
    variable(c"SYNCLINE_PLACE").map_or(b"", CStr::to_bytes)
}

/// Whether to report at the end what was replaced.
pub fn report() -> bool {
    variable(c"SYNCLINE_REPLACED").is_some()
}
