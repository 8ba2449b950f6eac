//! A lock that its holder lets go of inside a wait, as a condition variable does.

use syncline_recording::Op;

use crate::clock;
use crate::count::{Caller, Outcome, wait_for_event};
use crate::thread::held::Hold;
use crate::thread::rows;
use crate::tls;

/// Waits for an event; meanwhile a lock does not count as held.
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
    let held = interrupt(lock);
    // SAFETY: by this function's own condition.
    let result = unsafe { wait_for_event(op, object, caller, block, outcome) };
    if let Some(held) = held {
        resume(held);
    }
    result
}

/// A hold, as long as it is interrupted.
struct Interrupted {
    lock: usize,
    ret: usize,
    key: u64,
    since: Option<u64>,
    waited: bool,
    began: u64,
}

/// Takes a lock off the held ones until [`resume`].
fn interrupt(lock: usize) -> Option<Interrupted> {
    let Hold { row, since, waited } = tls::state()?.held.pop(lock)?;
    let began = if since.is_some() { clock::now() } else { 0 };
    // SAFETY: the row is this thread's own.
    let (ret, key) = unsafe { ((*row).ret as usize, (*row).key) };
    Some(Interrupted { lock, ret, key, since, waited, began })
}

/// Puts it back: it counts as held since its acquisition, less the time in between.
fn resume(interrupted: Interrupted) {
    let Interrupted { lock, ret, key, since, waited, began } = interrupted;
    let Some(state) = tls::state() else { return };
    // The row is looked up anew, since it may have moved.
    // SAFETY: the state is this thread's own.
    if let Some(row) = unsafe { rows::find(state, lock, ret, key) } {
        let since = since.map(|since| since + (clock::now() - began));
        state.held.push(Hold { row, since, waited });
    }
}
