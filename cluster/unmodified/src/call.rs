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
const ATTEMPTS: usize = 400;
/// After so many attempts, a call may need one more page from each address on.
const ATTEMPTS_A_PAGE: usize = 25;
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

/// Touches the pages to which a call's arguments point; after some attempts, one more page each. The
/// first page is touched last: in a small write buffer, a page makes room for the next one. Returns
/// false if there are none.
fn touch_all(call: Call, attempt: usize) -> bool {
    let mut any = false;
    for at in call.arguments.into_iter().filter(|at| is_global(*at)) {
        any = true;
        let more = attempt / ATTEMPTS_A_PAGE;
        let page = |number| if number == 0 { at } else { (at / PAGE + number) * PAGE };
        for at in (0..=more).rev().map(page) {
            if program().memory.may_access(at) {
                // SAFETY: the program's own memory. Another thread that writes to it meanwhile
                // would be a race of the program.
                unsafe { program().memory.touch(without_provenance_mut(at), 1, true) };
            }
        }
    }
    any
}
