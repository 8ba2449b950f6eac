//! Deadlines: absolute times on `CLOCK_MONOTONIC`, which is also the clock of the native memory.

use std::time::Duration;

use libc::timespec;
use syncline::memory::{Memory, Native};

use crate::boundary::{Refusal, at};

const NANOSECONDS: i64 = 1_000_000_000;

/// Reads a deadline.
///
/// # Safety
///
/// Same requirements as [`at`].
pub(crate) unsafe fn read(deadline: *const timespec) -> Result<Duration, Refusal> {
    // SAFETY: our caller's promise.
    let deadline = unsafe { at(deadline) }?;
    if !(0..NANOSECONDS).contains(&deadline.tv_nsec) {
        return Err(Refusal::Invalid);
    }
    // A time before the clock's beginning has passed, as has the beginning itself.
    let seconds = u64::try_from(deadline.tv_sec).unwrap_or(0);
    Ok(Duration::new(seconds, deadline.tv_nsec as u32))
}

/// The time that is `nanoseconds` from now.
#[unsafe(no_mangle)]
extern "C" fn syncline_deadline(nanoseconds: u64) -> timespec {
    let time = Native::now().saturating_add(Duration::from_nanos(nanoseconds));
    timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}
