//! The two fences, as the functions that synchronize use them.

use crate::output;
use crate::words::program;

/// What this rank's threads have written becomes visible to threads that acquire later. So does
/// what they have printed.
pub fn release() {
    program().release();
}

/// What others have released becomes visible.
pub fn acquire() {
    program().acquire();
}

/// Runs this library's part of a function that may release. Before, what the thread has printed
/// leaves the C library: this is a system call of the program.
pub fn releasing<R>(action: impl FnOnce() -> R) -> R {
    output::flush();
    crate::gate::ours(action)
}
