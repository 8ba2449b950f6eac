//! A system call of the program.
//!
//! The kernel can't fetch pages of global memory. So a call that fails with EFAULT is made again
//! after a touch of what its arguments point to.

use std::ptr::without_provenance_mut;

use crate::image::is_global;
use crate::system;
use crate::words::program;

/// A system call: its number and arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub number: i64,
    pub arguments: [usize; 6],
}

const PAGE: usize = 4096;
/// A page that was touched may be dropped again before the call; more often than this in a row, the
/// call's own error is right.
const ATTEMPTS: usize = 200;
/// The most pages from an address on that a call may need, unless it moves data.
const MOST_PAGES: usize = 16;
const EFAULT: i64 = -(libc::EFAULT as i64);

/// Makes a call again and again while it finds pages absent to which its arguments point.
pub fn retried(call: Call) -> i64 {
    let mut result = direct(call);
    for attempt in 0..ATTEMPTS {
        if result != EFAULT || !touch_all(call, attempt) {
            break;
        }
        result = direct(call);
    }
    result
}

fn direct(call: Call) -> i64 {
    // SAFETY: the program's own call.
    unsafe { system::direct(call.number, call.arguments) }
}

/// Touches the pages to which a call's arguments point, one more page with each attempt. Returns
/// false if there are none.
fn touch_all(call: Call, attempt: usize) -> bool {
    let mut any = false;
    for at in call.arguments.into_iter().filter(|at| is_global(*at)) {
        any = true;
        let pages = attempt.min(MOST_PAGES - 1);
        for at in (0..=pages).map(|page| if page == 0 { at } else { (at / PAGE + page) * PAGE }) {
            if is_global(at) && program().memory.is_allocated(at) {
                // SAFETY: the program's own memory. Another thread that writes to it meanwhile
                // would be a race of the program.
                unsafe { program().memory.touch(without_provenance_mut(at), 1, true) };
            }
        }
    }
    any
}
