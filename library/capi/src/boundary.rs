//! The boundary between C and Rust: pointers are checked before they are followed, outcomes become
//! error numbers, and no panic crosses it.

use std::ffi::c_int;
use std::mem::forget;
use std::process::abort;

/// The result of a call.
pub(crate) type Outcome = Result<(), Refusal>;

/// Why a call had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This thread doesn't hold the lock.
    NotHolder,
    /// This thread has the lock already, or runs one of its sections, or a transaction, and would
    /// wait for itself.
    Deadlock,
    /// A thread, perhaps this one, has the lock that was to be tried or destroyed; or another
    /// thread uses the object.
    Busy,
    /// The deadline has passed.
    TimedOut,
    /// An invalid argument: a pointer to something other than a lock, a name that no lock has, or
    /// an impossible time, size or number.
    Invalid,
    /// No memory is left for the lock.
    NoMemory,
    /// This lock has no such operation.
    Unsupported,
    /// No room for a message, no message, no free slot, or more readers than the lock can count.
    NotNow,
    /// The other end of the channel is gone.
    Disconnected,
}

impl Refusal {
    /// All refusals.
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

    /// The refusal's error number.
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

/// Runs the body of a C function, and returns its error number, or 0.
///
/// A panic in the body is a bug in the library, or a sign that the program has reached a limit that
/// no program should reach, such as 2^27 readers of one lock. The panic may have left a lock half
/// acquired, so the program is aborted.
#[inline(always)]
pub(crate) fn boundary(call: impl FnOnce() -> Outcome) -> c_int {
    let panicked = Panicked;
    let outcome = call();
    forget(panicked);
    outcome.map_or_else(Refusal::number, |()| 0)
}

/// Aborts the program when it is dropped during a panic.
struct Panicked;

impl Drop for Panicked {
    fn drop(&mut self) {
        // The panic's own message is on standard error already. Only that message says whether a
        // limit was reached or the library has a bug: nothing here has the payload.
        eprintln!(
            "libsyncline: ending the program, since a lock may be broken. If the message above is \
             about too many readers, the program has reached a limit that syncline.h documents; \
             otherwise this is a bug in Syncline"
        );
        abort();
    }
}

/// Converts a pointer from C to a reference, or refuses it.
///
/// # Safety
/// If the pointer is not null and is aligned, it points to a `T` that lives for the lifetime `'a`.
/// The `T` may be all zero bytes.
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
        let [panic, ours] = ["a bug", "libsyncline: "].map(|text| errors.find(text));
        assert!(panic.is_some() && panic < ours, "ours refers to the message above: {errors}");
        assert!(errors.contains("a limit that syncline.h documents; otherwise"), "{errors}");
    }

    #[test]
    fn error_numbers_differ() {
        let numbers = Refusal::ALL.map(Refusal::number);
        for (place, number) in numbers.iter().enumerate() {
            assert!(*number != 0 && !numbers[..place].contains(number));
        }
    }
}
