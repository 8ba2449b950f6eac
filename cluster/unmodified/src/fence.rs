//! The two fences, as the functions that synchronize use them.

use crate::words::program;

/// What this rank's threads have written becomes visible to threads that acquire later.
pub fn release() {
    program().release();
}

/// What others have released becomes visible.
pub fn acquire() {
    program().acquire();
}
