//! The options that `syncline whatif` passes through the environment, which children inherit.
//!
//! | variable | meaning |
//! |---|---|
//! | `SYNCLINE_DELAY` | `PLACE KIND TICKS`: the delayed operation and the delay; call site `0` is none |
//! | `SYNCLINE_DELAY_PLACES` | the call sites, as [`sites`](crate::sites) reads them |
//! | `SYNCLINE_DELAY_COUNTS` | the file to count in |
//!
//! `KIND` is a number of [`Kind`], and `TICKS` are those of the time-stamp counter.

use core::ffi::CStr;

use syncline_interpose::variable;

/// The operations that can be delayed at a call site.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A critical section, after its lock was acquired.
    Section = 0,
    /// A try that was refused.
    Try = 1,
    /// A wait for an event, after it has ended.
    Wait = 2,
    /// The call that acquires, before the acquisition. Counted as [`Kind::Section`].
    Call = 3,
}

/// The delay: call site (from 1; 0 for none), kind, and ticks. `None` without the variable, or if
/// it is invalid.
pub fn delay() -> Option<(u64, u64, u64)> {
    let text = variable(c"SYNCLINE_DELAY")?.to_str().ok()?;
    let mut numbers = text.split(' ').map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// The entries with the call sites; empty without the variable.
pub fn sites() -> &'static [u8] {
    variable(c"SYNCLINE_DELAY_PLACES").map_or(b"", CStr::to_bytes)
}

/// The path of the file to count in; `None` without the variable.
pub fn counts() -> Option<&'static CStr> {
    variable(c"SYNCLINE_DELAY_COUNTS")
}
