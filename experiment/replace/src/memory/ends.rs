//! Whether the ends of threads are noticed. A thread whose end is not noticed keeps no lines, since
//! nothing would give them back.

use syncline_interpose::ThreadEnds;

use crate::tls::{ENDED, NOTICED, set_stage, stage};

/// Whether this thread's end will be noticed. A thread that got the answer `true` shortly before the
/// program took the key keeps its lines then.
#[inline]
pub(super) fn is_noticed(ends: &'static ThreadEnds) -> bool {
    ends.are_noticed() && (stage() == NOTICED || notice(ends))
}

#[cold]
fn notice(ends: &'static ThreadEnds) -> bool {
    if stage() == ENDED {
        return false;
    }
    // This comes before the call, since the call may come back here.
    set_stage(NOTICED);
    ends.notice((&raw const *ends).cast())
}

/// This thread has ended, as far as this library knows.
pub(super) fn noticed() {
    set_stage(ENDED);
}
