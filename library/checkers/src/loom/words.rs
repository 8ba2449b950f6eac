//! Words and links over loom's atomics.
//!
//! A word is a number: the index of an entry in the execution's table. The entry outlives the word,
//! so an access to a dead word is found and reported.
//!
//! Loom treats SeqCst accesses as AcqRel, but supports SeqCst fences. Therefore, a thread that has
//! changed a word with SeqCst executes a fence before its next SeqCst load of a word. So if two
//! threads each change a word and then load the other's, at least one sees the other's change, as
//! in C11. If one of the four accesses is not SeqCst, it may happen that neither thread sees the
//! other's change. A fence is a little stronger than C11's accesses: it also orders accesses that
//! are not SeqCst. Other guarantees that C11 has for SeqCst accesses are missing here.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{self, Relaxed, SeqCst};
use std::thread::panicking;

use loom::sync::atomic::{AtomicU32, fence};
use syncline::memory::{Address, Link, Word};

use super::execution::Execution;

/// A word of 32 bits.
#[derive(Debug)]
pub struct LoomWord(usize);

impl LoomWord {
    pub(super) fn id(&self) -> usize {
        self.0
    }

    /// Returns the word's atomic for an access that changes it, and records the change.
    fn change(&self, order: Ordering) -> impl std::ops::Deref<Target = AtomicU32> {
        Execution::moved_on();
        if order == SeqCst {
            Execution::owes_fence(true);
        }
        Execution::access(self.0)
    }
}

impl Default for LoomWord {
    fn default() -> Self {
        Self(Execution::new_word())
    }
}

impl Drop for LoomWord {
    fn drop(&mut self) {
        // A failed execution is torn down in any order.
        if !panicking() {
            Execution::end_of_word(self.0);
        }
    }
}

impl Word for LoomWord {
    fn load(&self, order: Ordering) -> u32 {
        if order == SeqCst && Execution::owes_fence(false) {
            fence(SeqCst);
        }
        Execution::access(self.0).load(order)
    }
    fn store(&self, value: u32, order: Ordering) {
        self.change(order).store(value, order);
    }
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.change(order).swap(value, order)
    }
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        self.change(order).fetch_add(value, order)
    }
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        self.change(order).fetch_sub(value, order)
    }
    fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        self.change(order).fetch_or(bits, order)
    }
    fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
        self.change(order).fetch_and(bits, order)
    }
    fn exchange(&self, old: u32, new: u32, order: Ordering) -> Result<u32, u32> {
        let result = Execution::access(self.0).compare_exchange(old, new, order, Relaxed);
        if result.is_ok() {
            Execution::moved_on();
            if order == SeqCst {
                Execution::owes_fence(true);
            }
        }
        result
    }
    fn address(&self) -> Address {
        Address(self.0)
    }
}

/// A reference to a node: its address.
pub struct LoomRef<T>(pub(super) NonNull<T>);

impl<T> Clone for LoomRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LoomRef<T> {}

impl<T> PartialEq for LoomRef<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for LoomRef<T> {}

impl<T> fmt::Debug for LoomRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A reference to a node, or none.
pub struct LoomLink<T> {
    address: AddressLink,
    refers: PhantomData<*mut T>,
}

/// A link without the node's type, so that its code is compiled once and not for each type.
#[derive(Debug)]
struct AddressLink(usize);

impl Default for AddressLink {
    fn default() -> Self {
        Self(Execution::new_link())
    }
}

impl Drop for AddressLink {
    fn drop(&mut self) {
        if !panicking() {
            Execution::end_of_link(self.0);
        }
    }
}

impl AddressLink {
    fn load(&self, order: Ordering) -> *mut () {
        // A lock that is dropped follows its links to nodes that it must free. A failed execution
        // frees no nodes, and has no thread left that could access the link.
        if panicking() {
            return ptr::null_mut();
        }
        Execution::access_link(self.0).load(order)
    }
    fn store(&self, node: *mut (), order: Ordering) {
        Execution::moved_on();
        Execution::access_link(self.0).store(node, order);
    }
    fn swap(&self, node: *mut (), order: Ordering) -> *mut () {
        Execution::moved_on();
        Execution::access_link(self.0).swap(node, order)
    }
    fn exchange(&self, old: *mut (), new: *mut (), order: Ordering) -> bool {
        let link = Execution::access_link(self.0);
        let changed = link.compare_exchange(old, new, order, Relaxed).is_ok();
        if changed {
            Execution::moved_on();
        }
        changed
    }
}

impl<T> fmt::Debug for LoomLink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoomLink").field(&self.address.0).finish()
    }
}

// SAFETY: a link is a word that holds an address; following it is unsafe.
unsafe impl<T> Send for LoomLink<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for LoomLink<T> {}

impl<T> Default for LoomLink<T> {
    fn default() -> Self {
        Self { address: AddressLink::default(), refers: PhantomData }
    }
}

fn pointer<T>(node: Option<LoomRef<T>>) -> *mut () {
    node.map_or(ptr::null_mut(), |node| node.0.as_ptr().cast())
}

fn reference<T>(pointer: *mut ()) -> Option<LoomRef<T>> {
    NonNull::new(pointer.cast()).map(LoomRef)
}

impl<T> Link<LoomRef<T>> for LoomLink<T> {
    fn load(&self, order: Ordering) -> Option<LoomRef<T>> {
        reference(self.address.load(order))
    }
    fn store(&self, node: Option<LoomRef<T>>, order: Ordering) {
        self.address.store(pointer(node), order);
    }
    fn swap(&self, node: Option<LoomRef<T>>, order: Ordering) -> Option<LoomRef<T>> {
        reference(self.address.swap(pointer(node), order))
    }
    fn exchange(&self, old: Option<LoomRef<T>>, new: Option<LoomRef<T>>, order: Ordering) -> bool {
        self.address.exchange(pointer(old), pointer(new), order)
    }
}
