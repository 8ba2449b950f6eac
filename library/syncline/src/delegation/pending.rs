//! A detached section, whose caller continues without waiting for it, and its result.
//!
//! The request, the section and the result are in a node of the memory's pool. The section, and
//! later the result, has [`SPACE`] words there, together with a reference to the value. If the
//! section or the result needs more, both are in a box of their own. The node has two users, the
//! lock and the [`Pending`]; the last one gives it back.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr;

use super::frame::Frame;
use super::panics::{Outcome, catch};
use super::raw::RawDelegation;
use super::request::{Request, Task};
use crate::memory::{Data, Memory};

/// The number of words that are left in a native node of two lines.
const SPACE: usize = 11;

/// The result of a section that may not have run yet.
///
/// Dropping this does not cancel the section. The section's result is then dropped, by the helper
/// if the section runs later.
#[must_use = "to let the section run on, drop this explicitly"]
pub struct Pending<R, D: RawDelegation> {
    node: Node<D::Memory>,
    /// Takes the frame out of the node.
    take: unsafe fn(&Detached<D::Memory>) -> Outcome<R>,
    lock: PhantomData<fn(&D)>,
}

type Node<M> = <M as Memory>::Ref<Detached<M>>;

// SAFETY: it owns the result, which may be sent to other threads.
unsafe impl<R: Send, D: RawDelegation> Send for Pending<R, D> {}
// SAFETY: a shared reference to it only says whether the section has run.
unsafe impl<R: Send, D: RawDelegation> Sync for Pending<R, D> {}

impl<R, D: RawDelegation> Pending<R, D> {
    /// The result of a section that is about to be handed in.
    pub(super) fn new<T, F: FnOnce(&mut T) -> R>(
        value: &<D::Memory as Memory>::Data<T>,
        section: F,
    ) -> Self {
        let node = D::Memory::allocate::<Detached<D::Memory>>();
        // SAFETY: the node is ours.
        let detached = unsafe { D::Memory::follow(node) };
        // SAFETY: no other thread has it yet.
        unsafe {
            detached.node.with(|own| *own = Some(node));
            detached.put(Frame::<T, F, R, D::Memory>::new(value, section));
            detached.request.set(Task {
                frame: ptr::from_ref(detached).cast(),
                run: run::<T, F, R, D::Memory>,
                discard: Some(discard::<T, F, R, D::Memory>),
            });
        }
        Self { node, take: take::<T, F, R, D::Memory>, lock: PhantomData }
    }

    /// Waits until the section has run, and returns what it returned.
    ///
    /// # Panics
    ///
    /// If the section has panicked; the section's panic is resumed.
    pub fn wait(self) -> R {
        let this = ManuallyDrop::new(self);
        this.request().wait::<D::Wait>();
        // SAFETY: the section has run, and `this` is not dropped.
        unsafe { this.take() }.unwrap_or_else(|panic| panic.resume())
    }

    /// Whether the section has run, so that [`wait`](Self::wait) would return at once.
    pub fn is_done(&self) -> bool {
        self.request().is_done()
    }

    #[inline]
    pub(super) fn request(&self) -> &Request<D::Memory> {
        // SAFETY: the node lives at least as long as we do.
        unsafe { &D::Memory::follow(self.node).request }
    }

    /// Takes the result, and gives the node back.
    ///
    /// # Safety
    ///
    /// The section has run, the request is completed, and this is the last use.
    unsafe fn take(&self) -> Outcome<R> {
        // SAFETY: our caller's promise.
        unsafe {
            let outcome = (self.take)(D::Memory::follow(self.node));
            D::Memory::free(self.node);
            outcome
        }
    }
}

impl<R, D: RawDelegation> Drop for Pending<R, D> {
    fn drop(&mut self) {
        if self.request().abandon::<D::Wait>() {
            // SAFETY: the request was completed, and the lock doesn't use it any more.
            drop(unsafe { self.take() });
        }
    }
}

impl<R, D: RawDelegation> fmt::Debug for Pending<R, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("is_done", &self.is_done()).finish()
    }
}

/// A detached section's node.
struct Detached<M: Memory> {
    request: Request<M>,
    /// The node itself, for the thread that gives it back.
    node: M::Data<Option<Node<M>>>,
    /// The frame, or the address of its box.
    space: UnsafeCell<MaybeUninit<[usize; SPACE]>>,
}

impl<M: Memory> Default for Detached<M> {
    fn default() -> Self {
        let nothing = Task { frame: ptr::null(), run: |_| (), discard: None };
        Self {
            request: Request::new(nothing),
            node: M::Data::new(None),
            space: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }
}

impl<M: Memory> Detached<M> {
    const fn fits<V>() -> bool {
        size_of::<V>() <= size_of::<[usize; SPACE]>() && align_of::<V>() <= align_of::<usize>()
    }

    /// Puts the frame in.
    ///
    /// # Safety
    ///
    /// The node is ours, and empty.
    unsafe fn put<V>(&self, frame: V) {
        let space = self.space.get();
        // SAFETY: the space is ours, and large and aligned enough for either.
        unsafe {
            if Self::fits::<V>() {
                space.cast::<V>().write(frame);
            } else {
                space.cast::<*mut V>().write(Box::into_raw(Box::new(frame)));
            }
        }
    }

    /// The address of the frame.
    ///
    /// # Safety
    ///
    /// A frame of this type is in the node.
    unsafe fn frame<V>(&self) -> *mut V {
        let space = self.space.get();
        // SAFETY: as `put` has written it.
        if Self::fits::<V>() { space.cast() } else { unsafe { space.cast::<*mut V>().read() } }
    }

    /// Takes the frame out.
    ///
    /// # Safety
    ///
    /// A frame of this type is in the node, which is ours.
    unsafe fn get<V>(&self) -> V {
        // SAFETY: it is there, in its own box or to be moved out.
        unsafe {
            let frame = self.frame::<V>();
            if Self::fits::<V>() { frame.read() } else { *Box::from_raw(frame) }
        }
    }
}

unsafe fn run<T, F: FnOnce(&mut T) -> R, R, M: Memory>(node: *const ()) {
    // SAFETY: the node stays until the request is completed; the lock runs it once, alone.
    unsafe { (*(*node.cast::<Detached<M>>()).frame::<Frame<T, F, R, M>>()).run() };
}

unsafe fn take<T, F: FnOnce(&mut T) -> R, R, M: Memory>(node: &Detached<M>) -> Outcome<R> {
    // SAFETY: our caller is the last one to use the node, whose section has run.
    unsafe { node.get::<Frame<T, F, R, M>>() }.into_outcome()
}

unsafe fn discard<T, F: FnOnce(&mut T) -> R, R, M: Memory>(node: *const ()) {
    // SAFETY: our caller is the last one to use the node, whose section has run.
    let outcome = unsafe {
        let node = &*node.cast::<Detached<M>>();
        let outcome = take::<T, F, R, M>(node);
        if let Some(node) = node.node.with(|own| *own) {
            M::free(node);
        }
        outcome
    };
    // A result's destructor may panic too, and so may dropping the panic's payload. No thread waits
    // for these panics.
    let _leaked = ManuallyDrop::new(catch(|| drop(outcome)));
}
