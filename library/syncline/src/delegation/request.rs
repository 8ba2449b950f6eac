//! A section as the locks see it: something to be run once, and then completed.
//!
//! ```text
//!   state   PENDING -> DONE         the helper has run it
//!           PENDING -> ABANDONED    no thread wants the result of this detached one any more
//!           ABANDONED -> DONE       run as well; the helper discards it
//!           DONE -> ABANDONED       too late: the side that abandons it discards it
//! ```
//!
//! Both sides exchange the state, so one of them, the second, finds the other's mark and knows
//! that it is the last to use the request.

use core::fmt;
use core::sync::atomic::Ordering::Acquire;

use crate::memory::{Data, Memory, Word};
use crate::wait::Wait;

const PENDING: u32 = 0;
const DONE: u32 = 2;
const ABANDONED: u32 = 4;

/// A section to be run. It is *attached* if its caller waits for it, and *detached* otherwise.
pub struct Request<M: Memory> {
    task: M::Data<Task>,
    state: M::Word,
}

/// What a request stands for.
#[derive(Clone, Copy)]
pub(super) struct Task {
    /// The section and the place of its result, which `run` and `discard` know the type of.
    pub(super) frame: *const (),
    /// Runs the section, and does not unwind.
    pub(super) run: unsafe fn(*const ()),
    /// Drops a detached section's result and gives the request itself back.
    pub(super) discard: Option<unsafe fn(*const ())>,
}

impl<M: Memory> Request<M> {
    /// A request, not handed in yet.
    #[inline]
    pub(super) fn new(task: Task) -> Self {
        Self { task: M::Data::new(task), state: M::Word::default() }
    }

    #[inline]
    fn task(&self) -> Task {
        // SAFETY: it is written before the request is handed in, and then used by the thread that
        // runs the request, one after another.
        unsafe { self.task.with(|task| *task) }
    }

    /// Makes this another task's request.
    ///
    /// # Safety
    ///
    /// It is not handed in yet.
    pub(super) unsafe fn set(&self, new: Task) {
        // SAFETY: no other thread has it yet.
        unsafe { self.task.with(|task| *task = new) };
    }

    /// Whether the request is detached: no thread waits in the call that handed it in.
    #[inline]
    pub fn is_detached(&self) -> bool {
        self.task().discard.is_some()
    }

    /// Runs the section.
    ///
    /// # Safety
    ///
    /// The lock is held, the request handed in and not run yet.
    #[inline]
    pub unsafe fn run(&self) {
        let task = self.task();
        // SAFETY: the frame belongs to the function, and stays until the request is completed.
        unsafe { (task.run)(task.frame) };
    }

    /// Says that the section has run. The request may be freed then, and is freed before this
    /// returns if it was abandoned; so the function takes a pointer and not a reference.
    ///
    /// # Safety
    ///
    /// It has run, and this is its last use by the lock. `W` is the lock's policy.
    #[inline]
    pub unsafe fn complete<W: Wait>(request: M::Ref<Self>) {
        // SAFETY: it stays until its state says that it is completed.
        let (task, state) = unsafe { (M::follow(request).task(), &M::follow(request).state) };
        match task.discard {
            None => W::hand_over::<M>(state, DONE),
            Some(discard) => {
                // Acquire (in `replace`): pairs with the Release in `abandon`, whose caller has
                // done with the request.
                if W::replace::<M>(state, DONE) == ABANDONED {
                    // SAFETY: no other thread uses it any more.
                    unsafe { discard(task.frame) };
                }
            }
        }
    }

    /// Waits until it is completed.
    #[inline]
    pub fn wait<W: Wait>(&self) {
        // Only the thread that waits could abandon it.
        W::wait::<M>(&self.state, 0, None, |state| state != PENDING);
    }

    /// Whether it is completed. Acquire, if it is.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        // Acquire: pairs with the Release of `hand_over` or `replace` in `complete`. No thread is
        // parked here: only the owner waits, and it polls here instead.
        self.state.load(Acquire) == DONE
    }

    /// Abandons a detached request, and says whether it had been completed. If it had, the caller
    /// must discard it; otherwise the helper does.
    #[inline]
    pub(super) fn abandon<W: Wait>(&self) -> bool {
        // AcqRel (in `replace`): pairs with the same in `complete`.
        W::replace::<M>(&self.state, ABANDONED) == DONE
    }
}

impl<M: Memory> fmt::Debug for Request<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}
