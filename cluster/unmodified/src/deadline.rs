//! A time at which a wait ends.

use std::time::Duration;

/// A time of one of the system's clocks.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    clock: libc::clockid_t,
    at: libc::timespec,
}

impl Deadline {
    /// A time that the program passes to a function.
    ///
    /// # Errors
    ///
    /// `EINVAL`, if its nanoseconds are no part of a second.
    ///
    /// # Safety
    ///
    /// The pointer is to a time.
    pub unsafe fn of(clock: libc::clockid_t, at: *const libc::timespec) -> Result<Deadline, i32> {
        // SAFETY: by our caller's word.
        let at = unsafe { *at };
        match (0..1_000_000_000).contains(&at.tv_nsec) {
            true => Ok(Deadline { clock, at }),
            false => Err(libc::EINVAL),
        }
    }

    /// The time that is left; zero if the time has passed.
    pub fn left(self) -> Duration {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes the time. An unknown clock leaves zero, and the caller waits longer.
        unsafe { libc::clock_gettime(self.clock, &raw mut now) };
        let nanoseconds = |time: libc::timespec| {
            i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
        };
        let left = (nanoseconds(self.at) - nanoseconds(now)).clamp(0, i128::from(u64::MAX));
        Duration::from_nanos(left as u64)
    }
}
