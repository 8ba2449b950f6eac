//! Waits that release a lock meanwhile, as a condition variable's do.
//!
//! Between two such waits a thread may find nothing to do: it is woken, looks at its condition, and
//! waits again. The hold of the lock shows this. The first wait interrupts the hold, and at the end
//! of the wait the hold resumes. If a second wait for the same object soon interrupts the very same
//! hold, and the thread woke no thread in between, the first wake-up was futile.

use core::ptr::null_mut;

use syncline_recording::Op;
use syncline_recording::layout::WaitRecord;

use crate::count::hold;
use crate::count::outcome::Outcome;
use crate::count::wait::wait_for_event;
use crate::thread::call::Caller;
use crate::thread::held::{Hold, Resumed};
use crate::thread::usage::Usage;
use crate::thread::{ThreadState, call, records, rows};
use crate::{clock, thread};

/// A thread that finds nothing to do waits again within this many microseconds, since it only looks
/// at some variables. A thread that takes longer has done something.
const LOOK: u64 = 50;

/// Waits for an event; meanwhile the lock does not count as held.
///
/// # Safety
/// `caller` is a [`Caller`].
pub unsafe fn wait_letting_go(
    op: Op,
    object: usize,
    lock: usize,
    caller: Caller,
    block: impl FnOnce() -> i32,
    outcome: fn(i32) -> Outcome,
) -> i32 {
    let held = interrupt(lock, object);
    // SAFETY: by this function's own condition.
    let result = unsafe { wait_for_event(op, object, caller, block, outcome) };
    if let (Some(held), Some(state)) = (held, thread::state()) {
        let woken = matches!(outcome(result), Outcome::Got);
        // SAFETY: by this function's own condition; the row is this thread's own.
        let waits = unsafe {
            let row = rows::of(op, object, caller);
            let has = !row.is_null() && (*row).wait != 0;
            if has { records::waits_of(state, row).unwrap_or(null_mut()) } else { null_mut() }
        };
        resume(state, held, if woken { object } else { 0 }, waits);
    }
    result
}

/// A hold while it is interrupted by a wait.
struct Interrupted {
    lock: usize,
    ret: usize,
    key: u64,
    hold: Hold,
    /// When it was interrupted, in ticks.
    at: u64,
    /// The processor time that its holder had used in the hold by then.
    used: Option<Usage>,
}

/// Removes a lock from the held ones until [`resume`].
fn interrupt(lock: usize, object: usize) -> Option<Interrupted> {
    let state = thread::state()?;
    let hold = state.held.pop(lock)?;
    let at = clock::now();
    if let Some(resumed) = hold.resumed {
        count_if_futile(state, &resumed, object, at);
    }
    hold::log_end(state, &hold, at);
    let used = hold.used.map(|before| Usage::until(at).since(before));
    // SAFETY: the row is this thread's own.
    let (ret, key) = unsafe { ((*hold.row).ret as usize, (*hold.row).key) };
    Some(Interrupted { lock, ret, key, hold, at, used })
}

/// Counts the earlier wait as futile if it was for the same object, ended shortly before `now`, and
/// the thread has woken no thread since.
fn count_if_futile(state: &ThreadState, earlier: &Resumed, object: usize, now: u64) {
    let soon = now.saturating_sub(earlier.at) < clock::microseconds(LOOK);
    let idle = earlier.notices == state.notices.get();
    if earlier.object == object && soon && idle && !earlier.waits.is_null() {
        // SAFETY: a record of this thread's own, which stays where it is.
        unsafe { (*earlier.waits).futile += 1 };
    }
}

/// Notes the lock as held again. The time of the hold counts from the acquisition, without the
/// wait.
fn resume(state: &ThreadState, held: Interrupted, object: usize, waits: *mut WaitRecord) {
    let Interrupted { lock, ret, key, hold, at, used } = held;
    // The row is looked up again, since it may have moved.
    // SAFETY: the state is this thread's own.
    let Some(row) = (unsafe { call::find(state, lock, ret, key) }) else { return };
    let used = used.map(|before| Usage::from_here().since(before));
    let now = clock::now();
    let resumed = Some(Resumed { object, waits, at: now, notices: state.notices.get() });
    let since = hold.since.map(|since| since + (now - at));
    state.held.push(Hold { row, since, used, resumed, ..hold });
}
