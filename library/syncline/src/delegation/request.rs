//! A section as the locks see it: something to be run once, and then completed.
//!
//! ```text
//!   state   PENDING -> DONE         the helper has run it
//!           PENDING -> ABANDONED    no thread wants the result of this detached one any more
//!           ABANDONED -> DONE       run as well; the helper discards it
//!           DONE -> ABANDONED       too late: the side that abandons it discards it
//! ```
//!
//! Both sides exchange the state, so the second of them finds the other's mark, and knows that it
//! is the last to use the request.

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

/// The section that a request stands for.
#[derive(Clone, Copy)]
pub(super) struct Task {
    /// The section and the room for its result, whose type `run` and `discard` know.
    pub(super) frame: *const (),
    /// Runs the section, and does not unwind.
    pub(super) run: unsafe fn(*const ()),
    /// Drops a detached section's result, and frees the request itself. `None` if the request is
    /// attached.
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
        // SAFETY: it is written before the request is handed in, and then used by one thread at a
        // time, which runs or completes the request.
        unsafe { self.task.with(|task| *task) }
    }

    /// Changes the task that the request stands for.
    ///
    /// # Safety
    ///
    /// The request is not handed in yet.
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

    /// Marks the request as completed. From then on the request may be freed; an abandoned request
    /// is freed before this returns. So the function takes a pointer and not a reference.
    ///
    /// # Safety
    ///
    /// The section has run, and the lock does not use the request after this. `W` is the lock's
    /// policy.
    #[inline]
    pub unsafe fn complete<W: Wait>(request: M::Ref<Self>) {
        // SAFETY: it stays until its state says that it is completed.
        let (task, state) = unsafe { (M::follow(request).task(), &M::follow(request).state) };
        match task.discard {
            None => W::hand_over::<M>(state, DONE),
            Some(discard) => {
                // Acquire (in `replace`): pairs with the Release in `abandon`, whose caller is done
                // with the request.
                if W::replace::<M>(state, DONE) == ABANDONED {
                    // SAFETY: no other thread uses it any more.
                    unsafe { discard(task.frame) };
                }
            }
        }
    }

    /// Waits until the request is completed.
    #[inline]
    pub fn wait<W: Wait>(&self) {
        // The state is not ABANDONED: only the thread that waits could abandon the request.
        W::wait::<M>(&self.state, 0, None, |state| state != PENDING);
    }

    /// Whether the request is completed. If it is, the call has Acquire ordering.
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
        // AcqRel (in `replace`): pairs with the `replace` in `complete`.
        W::replace::<M>(&self.state, ABANDONED) == DONE
    }
}

impl<M: Memory> fmt::Debug for Request<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}
