//! The storage of a replacing lock: in the program's object, or, if it is too large for that, at an
//! address that the object holds.
//!
//! ```text
//!   room      lock                      a lock in all of the room, whose acquisitions need no node
//!             lock, node                a smaller lock, and the holder's node
//!             pointer, node             a large lock, made when it is first used
//!             -, pointer                a large lock whose acquisitions need no node
//! ```
//!
//! If no large lock was available when the object was first used, the word of the pointer is
//! `LEFT`, and the object stays the C library's. The C library uses the words before that word, but
//! not the word itself.

use core::mem::{align_of, size_of};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use syncline::lock::RawLock;
use syncline::memory::Memory;

use crate::memory::{Cells, LINE, Own};

/// The number of large locks that a process may have of each kind of object and each size. At three
/// kilobytes for the largest, they take at most 200 MB; only a policy has several sizes.
const MOST: u32 = 1 << 16;
/// The most lines that a lock may have.
const LINES: usize = 64;

/// In place of a pointer: this object is left to the C library.
const LEFT: usize = 1;

/// The source of large locks: a list for each size.
pub struct Large([Cells; LINES]);

impl Large {
    /// Lists without any locks yet.
    pub const fn new() -> Large {
        Large([const { Cells::new(MOST) }; LINES])
    }

    /// Makes a fresh lock; `None` if there are too many, or there is no memory.
    pub fn create<L: Default>(&self) -> Option<NonNull<L>> {
        let lock = self.list::<L>().take(lines::<L>())?.cast::<L>();
        // SAFETY: only this thread has the memory, which is large enough and aligned.
        unsafe { lock.write(L::default()) };
        Some(lock)
    }

    /// Frees a lock.
    ///
    /// # Safety
    ///
    /// The lock comes from [`create`](Self::create), and no thread uses it any more.
    pub unsafe fn destroy<L>(&self, lock: NonNull<L>) {
        // SAFETY: our caller's promise.
        unsafe {
            lock.drop_in_place();
            self.list::<L>().give(lock.cast());
        }
    }

    fn list<L>(&self) -> &Cells {
        const { assert!(0 < lines::<L>() && lines::<L>() <= LINES) };
        &self.0[lines::<L>() - 1]
    }
}

const fn lines<L>() -> usize {
    size_of::<L>().div_ceil(LINE)
}

/// The room for a lock in an object, all zero at first. The last word is for the holder's node, if
/// the lock has nodes.
#[repr(C)]
pub struct Slot<const WORDS: usize>([AtomicUsize; WORDS]);

impl<const WORDS: usize> Default for Slot<WORDS> {
    fn default() -> Self {
        Slot([const { AtomicUsize::new(0) }; WORDS])
    }
}

impl<const WORDS: usize> Slot<WORDS> {
    /// Whether acquisitions of this lock need a node.
    const fn has_node<L: RawLock>() -> bool {
        size_of::<L::Node>() != 0
    }

    /// The word with the pointer to a large lock.
    #[inline(always)]
    fn pointer<L: RawLock>(&self) -> &AtomicUsize {
        &self.0[if Self::has_node::<L>() { 0 } else { WORDS - 1 }]
    }

    const fn is_inside<L: RawLock>() -> bool {
        let room = if Self::has_node::<L>() { WORDS - 1 } else { WORDS };
        size_of::<L>() <= room * size_of::<usize>() && align_of::<L>() <= align_of::<usize>()
    }

    /// The lock; `None` if this object is left to the C library.
    #[inline(always)]
    pub fn get<L: RawLock>(&self, large: &Large) -> Option<&L> {
        if Self::is_inside::<L>() {
            // SAFETY: the room is large enough and aligned, and all zero is a fresh lock.
            return Some(unsafe { &*ptr::from_ref(self).cast::<L>() });
        }
        // Acquire pairs with the AcqRel in `make`.
        match self.pointer::<L>().load(Acquire) {
            0 => self.make(large),
            LEFT => None,
            // SAFETY: the pointer comes from `make`, and the lock exists until `clear`.
            pointer => Some(unsafe { &*(pointer as *const L) }),
        }
    }

    /// The lock; `None` if none was made yet, or if this object is left to the C library.
    #[inline(always)]
    pub fn at_hand<L: RawLock>(&self) -> Option<&L> {
        if Self::is_inside::<L>() {
            // SAFETY: as in `get`.
            return Some(unsafe { &*ptr::from_ref(self).cast::<L>() });
        }
        // Acquire, as in `get`.
        let pointer = self.pointer::<L>().load(Acquire);
        // SAFETY: as in `get`.
        (pointer > LEFT).then(|| unsafe { &*(pointer as *const L) })
    }

    #[cold]
    fn make<L: RawLock>(&self, large: &Large) -> Option<&L> {
        let new = large.create::<L>();
        let value = new.map_or(LEFT, |new| new.addr().get());
        // AcqRel pairs with the Acquire in `get`: the lock is initialised.
        let outcome = self.pointer::<L>().compare_exchange(0, value, AcqRel, Acquire);
        if let (Err(_), Some(new)) = (outcome, new) {
            // SAFETY: no other thread has seen the lock.
            unsafe { large.destroy(new) };
        }
        match outcome.map_or_else(|theirs| theirs, |_| value) {
            LEFT => None,
            // SAFETY: as in `get`.
            pointer => Some(unsafe { &*(pointer as *const L) }),
        }
    }

    /// A node for an acquisition, which exists until [`done`](Self::done).
    #[inline(always)]
    pub fn node<'a, L: RawLock<Memory = Own>>() -> &'a L::Node {
        let node =
            if Self::has_node::<L>() { Own::allocate::<L::Node>() } else { NonNull::dangling() };
        // SAFETY: the node exists until it is freed, or has no size.
        unsafe { node.as_ref() }
    }

    /// Frees a node that no acquisition uses any more.
    ///
    /// # Safety
    ///
    /// The node comes from [`node`](Self::node), and no thread uses it any more.
    #[inline(always)]
    pub unsafe fn done<L: RawLock<Memory = Own>>(node: &L::Node) {
        if Self::has_node::<L>() {
            // SAFETY: our caller's promise.
            unsafe { Own::free(NonNull::from_ref(node)) }
        }
    }

    /// Notes the holder's node.
    #[inline(always)]
    pub fn hold<L: RawLock>(&self, node: &L::Node) {
        if Self::has_node::<L>() {
            // Relaxed: only holders access the word, and the lock orders them.
            self.0[WORDS - 1].store(ptr::from_ref(node).addr(), Relaxed);
        }
    }

    /// The holder's node.
    #[inline(always)]
    pub fn held<'a, L: RawLock>(&self) -> &'a L::Node {
        let node = if Self::has_node::<L>() {
            // Relaxed, as in `hold`.
            self.0[WORDS - 1].load(Relaxed) as *const L::Node
        } else {
            ptr::dangling()
        };
        // SAFETY: the holder has stored the node's address here, or the node has no size.
        unsafe { &*node }
    }

    /// Makes the lock a fresh one, and frees its memory.
    ///
    /// # Safety
    ///
    /// No thread uses or holds the lock.
    pub unsafe fn clear<L: RawLock>(&self, large: &Large) {
        // Relaxed, also below: the program has to order this before the next use of the object.
        let pointer = self.pointer::<L>().load(Relaxed);
        // SAFETY: no thread uses the lock, and a pointer comes from `make`.
        unsafe {
            if Self::is_inside::<L>() {
                ptr::from_ref(self).cast_mut().cast::<L>().drop_in_place();
            } else if pointer > LEFT {
                large.destroy(NonNull::new_unchecked(pointer as *mut L));
            }
        }
        self.0.iter().for_each(|word| word.store(0, Relaxed));
    }

    /// Turns a lock whose waiters no longer exist into a fresh one. The nodes of those waiters are
    /// not freed.
    ///
    /// # Safety
    ///
    /// This thread holds the lock, and no other thread uses it.
    pub unsafe fn forget<L: RawLock>(&self) {
        if Self::is_inside::<L>() {
            // Relaxed: there is no other thread.
            self.0.iter().for_each(|word| word.store(0, Relaxed));
        } else {
            // SAFETY: the pointer is to the lock that this thread holds.
            unsafe { (self.pointer::<L>().load(Relaxed) as *mut L).write(L::default()) };
        }
    }
}
