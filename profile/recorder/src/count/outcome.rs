//! How a wait ended, according to the function's result.

/// How a wait ended.
pub enum Outcome {
    /// The thread got what it waited for.
    Got,
    /// The deadline passed.
    TimedOut,
    /// A signal ended it.
    Interrupted,
    /// It failed with an error; the call is not counted.
    Failed,
}

impl Outcome {
    /// The outcome of a function that returns an error number.
    pub fn of(result: i32) -> Outcome {
        match result {
            0 | libc::EOWNERDEAD => Outcome::Got,
            libc::ETIMEDOUT => Outcome::TimedOut,
            _ => Outcome::Failed,
        }
    }

    /// The outcome of a function that returns -1 and sets `errno`.
    pub fn of_errno(result: i32) -> Outcome {
        if result == 0 {
            return Outcome::Got;
        }
        // SAFETY: errno is always there.
        match unsafe { *libc::__errno_location() } {
            libc::ETIMEDOUT => Outcome::TimedOut,
            libc::EINTR => Outcome::Interrupted,
            _ => Outcome::Failed,
        }
    }

    /// The outcome of `clock_nanosleep`, which returns an error number.
    pub fn of_sleep(result: i32) -> Outcome {
        match result {
            0 => Outcome::Got,
            libc::EINTR => Outcome::Interrupted,
            _ => Outcome::Failed,
        }
    }

    /// The outcome of a C11 function.
    pub fn of_c11(result: i32) -> Outcome {
        const SUCCESS: i32 = 0;
        const TIMEDOUT: i32 = 4;
        match result {
            SUCCESS => Outcome::Got,
            TIMEDOUT => Outcome::TimedOut,
            _ => Outcome::Failed,
        }
    }

    /// The outcome of a function that can't fail.
    pub fn always(_: i32) -> Outcome {
        Outcome::Got
    }
}
