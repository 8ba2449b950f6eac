//! The way from C into Rust and back: pointers are looked at before they are followed, outcomes
//! become error numbers, and no panic gets out.

use std::ffi::c_int;
use std::mem::forget;
use std::process::abort;

/// What a call came to.
pub(crate) type Outcome = Result<(), Refusal>;

/// Why a call did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This thread doesn't hold the lock.
    NotHolder,
    /// This thread holds the lock, and would wait for itself.
    Deadlock,
    /// Somebody else holds or uses it.
    Busy,
    /// The deadline has passed.
    TimedOut,
    /// Not a lock, or not a name of one.
    Invalid,
    /// No memory for the lock.
    NoMemory,
    /// This lock can't do that.
    Unsupported,
    /// No room for a message, or no message.
    NotNow,
    /// The other end of the channel is gone.
    Disconnected,
}

impl Refusal {
    /// All of them.
    pub(crate) const ALL: [Self; 9] = [
        Self::NotHolder,
        Self::Deadlock,
        Self::Busy,
        Self::TimedOut,
        Self::Invalid,
        Self::NoMemory,
        Self::Unsupported,
        Self::NotNow,
        Self::Disconnected,
    ];

    /// The error number.
    pub(crate) fn number(self) -> c_int {
        match self {
            Self::NotHolder => libc::EPERM,
            Self::Deadlock => libc::EDEADLK,
            Self::Busy => libc::EBUSY,
            Self::TimedOut => libc::ETIMEDOUT,
            Self::Invalid => libc::EINVAL,
            Self::NoMemory => libc::ENOMEM,
            Self::Unsupported => libc::ENOTSUP,
            Self::NotNow => libc::EAGAIN,
            Self::Disconnected => libc::EPIPE,
        }
    }
}

/// Runs what a C function does, and returns its error number, or 0.
///
/// A panic here is a bug of ours. It may have left a lock half acquired, so the program ends.
#[inline(always)]
pub(crate) fn boundary(call: impl FnOnce() -> Outcome) -> c_int {
    let panicked = Panicked;
    let outcome = call();
    forget(panicked);
    outcome.map_or_else(Refusal::number, |()| 0)
}

/// Is dropped when a panic passes by.
struct Panicked;

impl Drop for Panicked {
    fn drop(&mut self) {
        eprintln!(
            "libsyncline: this is a bug in Syncline; ending the program, since a lock may be broken"
        );
        abort();
    }
}

/// What a pointer from C points to.
///
/// # Safety
///
/// If it is not null and aligned, it points to a `T` that stays for the lifetime `'a`, and which
/// may be all zero bytes.
#[inline(always)]
pub(crate) unsafe fn at<'a, T>(pointer: *const T) -> Result<&'a T, Refusal> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Refusal::Invalid);
    }
    // SAFETY: our caller's promise.
    Ok(unsafe { &*pointer })
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_panic_ends_the_program_with_a_message() {
        const INNER: &str = "SYNCLINE_TEST_PANIC";
        if env::var_os(INNER).is_some() {
            boundary(|| panic!("a bug"));
        }
        let test = "boundary::tests::a_panic_ends_the_program_with_a_message";
        let mut program = Command::new(env::current_exe().expect("a program"));
        program.args(["--exact", test, "--nocapture"]).env(INNER, "");
        let output = program.output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{errors}");
        assert!(errors.contains("a bug") && errors.contains("libsyncline: "), "{errors}");
    }

    #[test]
    fn error_numbers_differ() {
        let numbers = Refusal::ALL.map(Refusal::number);
        for (place, number) in numbers.iter().enumerate() {
            assert!(*number != 0 && !numbers[..place].contains(number));
        }
    }
}
