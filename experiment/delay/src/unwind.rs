//! Finds the position of a function's return address on the stack.

use syncline_interpose::for_each_frame;

/// The position on the stack of the return address of the program's call.
pub type Caller = *const usize;

/// The position of the return address of the function that the return address at `below` leads
/// into; `None` if it can't be found.
pub fn return_address_above(below: Caller) -> Option<Caller> {
    let (mut passed, mut found) = (false, None);
    for_each_frame(|ip, cfa| {
        // The return address of a frame's call lies just below the stack pointer's value before the
        // call.
        let slot = cfa.wrapping_sub(size_of::<usize>()) as Caller;
        if passed {
            // SAFETY: the slot is on this stack: the unwinder has just read a return address there,
            // or a frame that it has passed.
            if slot > below && unsafe { *slot } == ip {
                found = Some(slot);
            }
            return false;
        }
        passed = slot == below;
        true
    });
    found
}
