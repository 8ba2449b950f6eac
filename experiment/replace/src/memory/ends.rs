//! Finds out whether the end of a thread will be noticed. If it will not, the thread keeps no
//! lines, since nothing would give them back.

use syncline_interpose::ThreadEnds;

use crate::tls::{ENDED, NOTICED, set_stage, stage};

/// Whether this thread's end will be noticed. If the library gives its key up to the program (see
/// [`ThreadEnds`]) shortly after a thread got `true`, the thread's lines are lost when the thread
/// ends.
#[inline]
pub(super) fn is_noticed(ends: &'static ThreadEnds) -> bool {
    ends.are_noticed() && (stage() == NOTICED || notice(ends))
}

#[cold]
fn notice(ends: &'static ThreadEnds) -> bool {
    if stage() == ENDED {
        return false;
    }
    // The stage is set first, since the call may lead back here.
    set_stage(NOTICED);
    ends.notice((&raw const *ends).cast())
}

/// Notes that this thread has ended: it keeps no lines from now on.
pub(super) fn noticed() {
    set_stage(ENDED);
}
