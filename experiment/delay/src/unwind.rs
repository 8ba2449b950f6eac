//! Where on the stack a function's return address lies.

use syncline_interpose::for_each_frame;

/// The slot on the stack where the return address of the program's call lies.
pub type Caller = *const usize;

/// Where the return address lies of the function that the return address at `below` leads into.
pub fn return_address_above(below: Caller) -> Option<Caller> {
    let (mut passed, mut found) = (false, None);
    for_each_frame(|ip, cfa| {
        // A frame's call has left its return address below what the frame's stack pointer was before.
        let slot = cfa.wrapping_sub(size_of::<usize>()) as Caller;
        if passed {
            // SAFETY: what the unwinder has read the frame's address from, unless it says otherwise.
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
