//! The ends of threads, which give back the lines that they keep. If ends are not noticed, no
//! thread keeps any.

use core::ffi::c_void;

use super::lines::give_all;
use crate::tls::{ENDED, NOTICED, set_stage, stage};

syncline_interpose::thread_ends!(ENDS, thread_ends);

/// Early in a program, keys are still free.
pub(super) fn prepare() {
    ENDS.prepare();
}

/// Whether the thread's end will be noticed. A thread that got the answer `true` shortly before the
/// program took the key keeps its lines then.
#[inline]
pub(super) fn is_noticed() -> bool {
    ENDS.are_noticed() && (stage() == NOTICED || notice())
}

#[cold]
fn notice() -> bool {
    if stage() == ENDED {
        return false;
    }
    // This comes before the call, since the call may come back here.
    set_stage(NOTICED);
    ENDS.notice((&raw const ENDS).cast())
}

unsafe extern "C" fn thread_ends(_: *mut c_void) {
    set_stage(ENDED);
    give_all();
}
