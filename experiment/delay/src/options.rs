//! What `syncline whatif` asks for, through the environment; children inherit it.
//!
//! | variable | meaning |
//! |---|---|
//! | `SYNCLINE_DELAY` | `PLACE KIND TICKS`: what is delayed, and by how much; `0` is no call site |
//! | `SYNCLINE_DELAY_PLACES` | the call sites, as [`sites`](crate::sites) reads them |
//! | `SYNCLINE_DELAY_COUNTS` | the file to count in |
//!
//! `KIND` is a number of [`Kind`], and `TICKS` are those of the time-stamp counter.

use core::ffi::CStr;

use syncline_interpose::variable;

/// What can be delayed at a call site.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A critical section, once the lock is held.
    Section = 0,
    /// A try that was refused.
    Try = 1,
    /// A wait for an event, once it has ended.
    Wait = 2,
    /// The call that acquires, before the acquisition. Counted as [`Kind::Section`].
    Call = 3,
}

/// What is delayed: call site (from 1), kind, ticks.
pub fn delay() -> Option<(u64, u64, u64)> {
    let text = variable(c"SYNCLINE_DELAY")?.to_str().ok()?;
    let mut numbers = text.split(' ').map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// The call sites; empty without the variable.
pub fn sites() -> &'static [u8] {
    variable(c"SYNCLINE_DELAY_PLACES").map_or(b"", CStr::to_bytes)
}

/// Where to count.
pub fn counts() -> Option<&'static CStr> {
    variable(c"SYNCLINE_DELAY_COUNTS")
}
