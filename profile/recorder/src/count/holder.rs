//! Finds the thread that holds a lock for which the calling thread waits.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use syncline_recording::layout::{Blocker, Row, WaitRecord};

use crate::recorder;
use crate::thread::held::{Held, Holder};
use crate::{thread, tls};

/// The other thread that holds a lock now; `None` if it is not found.
pub fn holder_of(lock: usize) -> Option<Holder> {
    look(lock, Held::find)
}

/// The calling thread, if it holds the lock itself.
pub fn myself(lock: usize) -> Option<Holder> {
    let state = thread::state()?;
    let row = state.held.find(lock)?;
    // SAFETY: the row is this thread's own.
    let stack = unsafe { (*row).stack };
    Some(Holder { stack, thread: state.index.load(Relaxed) })
}

/// The other thread that released a lock last; `None` if it is not found.
pub fn last_holder_of(lock: usize) -> Option<Holder> {
    look(lock, Held::find_released)
}

/// Searches what the other threads hold, while they may be changing it; see
/// [`crate::thread::held`].
fn look(lock: usize, find: fn(&Held, usize) -> Option<*mut Row>) -> Option<Holder> {
    /// The number of threads that are searched, which takes about a microsecond.
    const LOOK_AT: usize = 512;
    let me = tls::state_address();
    let threads = recorder::existing()?.threads.used();
    threads.iter().take(LOOK_AT).find_map(|thread| {
        let row = find(&thread.held, lock).filter(|_| (&raw const *thread).addr() != me)?;
        // SAFETY: rows stay mapped; one that has moved reads as zero. The word is read
        // whole, while its owner may be storing it.
        let stack = unsafe { AtomicU32::from_ptr(&raw mut (*row).stack).load(Relaxed) };
        (stack != 0).then_some(Holder { stack, thread: thread.index.load(Relaxed) })
    })
}

/// Adds a wait to the sum of those for holders with this holder's stack. If the record already has
/// too many other stacks, the wait is not attributed to any.
///
/// # Safety
/// The wait record is this thread's own.
pub unsafe fn blame(waits: *mut WaitRecord, holder: Holder, ticks: u64) {
    // SAFETY: by this function's own condition.
    let blockers = unsafe { &mut (*waits).blockers };
    let place = blockers.iter_mut().find(|b| b.stack == holder.stack || b.stack == 0);
    if let Some(blocker) = place {
        *blocker = Blocker {
            stack: holder.stack,
            thread: holder.thread,
            waits: blocker.waits + 1,
            ticks: blocker.ticks + ticks,
        };
    }
}
