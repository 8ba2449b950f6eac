//! Waits for locks whose sections are brief, counted after the release.
//!
//! Other threads wait while a thread counts its own wait inside the section. If the section itself
//! takes some nanoseconds, the counting makes it many times as long, and more threads have to wait:
//! raytrace, which counts rays under a lock, took a third longer. So the thread only notes the wait
//! ([`put`]), and counts it when it has released the lock, or before it waits again ([`count`]).
//! The acquisition itself is counted at once. Sections are expected to be brief if earlier ones of
//! the row were ([`hold::is_brief`]).
//!
//! A wait that is not counted yet is lost if the process or the thread ends in the section.
//!
//! [`hold::is_brief`]: crate::count::hold::is_brief

use syncline_recording::writer::add_one;

use crate::count::nest;
use crate::count::outcome::Outcome;
use crate::count::waited;
use crate::thread::ThreadState;
use crate::thread::held::Hold;
use crate::thread::pending::EndedWait;

/// Counts an acquisition that has waited, notes the lock as held, and keeps the wait.
///
/// # Safety
/// The state and the wait's row are this thread's own.
pub unsafe fn put(state: &ThreadState, lock: usize, wait: EndedWait) {
    // SAFETY: by this function's own condition.
    unsafe { add_one(&raw mut (*wait.row).calls) };
    let hold = Hold::untimed(lock, wait.row);
    state.held.push(Hold { since: Some(wait.ended), waited: true, ..hold });
    state.pending.put(wait);
}

/// Counts the wait that was kept, if there is one.
#[inline(always)]
pub fn count(state: &ThreadState) {
    if let Some(wait) = state.pending.take() {
        // SAFETY: the wait's row is this thread's own.
        unsafe { count_taken(state, &wait) };
    }
}

/// # Safety
/// The state and the wait's row are this thread's own.
#[inline(never)]
unsafe fn count_taken(state: &ThreadState, wait: &EndedWait) {
    // SAFETY: by this function's own condition.
    unsafe {
        nest::note(state, wait.row, 1, wait.outer);
        waited::add(wait.row, wait.ended - wait.began, wait.holder, &Outcome::Got);
        let who = wait.holder.map(|holder| holder.thread);
        waited::log(state, wait.row, (wait.began, wait.ended), &Outcome::Got, who);
    }
}
