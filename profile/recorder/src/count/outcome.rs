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

    /// The outcome of `sleep`, which returns the seconds that are left if a signal ended it. It
    /// also returns 0 if that was in the last second.
    pub fn of_seconds_left(result: i32) -> Outcome {
        if result == 0 { Outcome::Got } else { Outcome::Interrupted }
    }

    /// The outcome of `thrd_sleep`, whose results are not those of the other C11 functions.
    pub fn of_thrd_sleep(result: i32) -> Outcome {
        const INTERRUPTED: i32 = -1;
        match result {
            0 => Outcome::Got,
            INTERRUPTED => Outcome::Interrupted,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_that_a_signal_ends_is_interrupted() {
        assert!(matches!(Outcome::of_seconds_left(0), Outcome::Got));
        assert!(matches!(Outcome::of_seconds_left(99), Outcome::Interrupted));
        assert!(matches!(Outcome::of_thrd_sleep(0), Outcome::Got));
        assert!(matches!(Outcome::of_thrd_sleep(-1), Outcome::Interrupted));
        assert!(matches!(Outcome::of_thrd_sleep(-2), Outcome::Failed));
    }
}
