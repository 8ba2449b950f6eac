//! The shares of this thread: which reader-writer locks it shares, and with which nodes.
//!
//! A writer's node is stored in the lock, but there may be many readers. Each thread has a list of
//! its shares, the latest first. The list is short, since a thread shares few locks at a time.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use syncline::memory::{Memory, Native};

/// This thread's share of a lock.
struct Share {
    lock: *const (),
    node: *mut (),
    next: Option<NonNull<Share>>,
}

impl Default for Share {
    fn default() -> Self {
        Self { lock: ptr::null(), node: ptr::null_mut(), next: None }
    }
}

thread_local! {
    // Without a destructor, so that shares can be released until the thread's last moment.
    static SHARES: Cell<Option<NonNull<Share>>> = const { Cell::new(None) };
}

/// Whether this thread shares the lock at this address.
pub(crate) fn has(lock: *const ()) -> bool {
    let mut next = SHARES.get();
    while let Some(share) = next {
        // SAFETY: the elements of the list belong to this thread, and live until `remove`.
        let share = unsafe { share.as_ref() };
        if share.lock == lock {
            return true;
        }
        next = share.next;
    }
    false
}

/// Records that this thread shares the lock with this node.
pub(crate) fn add(lock: *const (), node: *mut ()) {
    let new = Native::allocate::<Share>();
    // SAFETY: it is new, so no other reference exists.
    unsafe { new.write(Share { lock, node, next: SHARES.get() }) };
    SHARES.set(Some(new));
}

/// Removes this thread's share of the lock from the list, and returns the node.
pub(crate) fn remove(lock: *const ()) -> Option<*mut ()> {
    let mut before: Option<NonNull<Share>> = None;
    let mut next = SHARES.get();
    while let Some(mut found) = next {
        // SAFETY: as in `has`; no other reference to it is alive.
        let share = unsafe { found.as_mut() };
        next = share.next;
        if share.lock == lock {
            let node = share.node;
            match before {
                // SAFETY: as above; it is another element.
                Some(mut before) => unsafe { before.as_mut() }.next = next,
                None => SHARES.set(next),
            }
            // SAFETY: it was allocated in `add`, and was removed from the list.
            unsafe { Native::free(found) };
            return Some(node);
        }
        before = Some(found);
    }
    None
}
