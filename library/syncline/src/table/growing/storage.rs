//! Where a table keeps its entries: in the buckets themselves, or in nodes that these refer to.
//!
//! Readers copy what is in a slot, and may do so while a writer changes it; a torn copy is
//! discarded. That is enough if the copy is the whole entry ([`Flat`]). If a slot refers to a node
//! ([`Boxed`]), a node that a reader may have found must stay until the reader is done: readers are
//! pinned, and `seize` frees a node once all readers that were pinned when the node was taken out
//! have unpinned.

use std::boxed::Box;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use seize::{Collector, LocalGuard};

use super::version::Version;
use crate::memory::Native;

/// A way to keep entries: [`Flat`] or [`Boxed`].
pub trait Storage<K, V>: Keep<K, V> + Send + Sync {}

/// Entries that can be copied, in the buckets themselves: nothing is allocated for an entry, and
/// readers need no protection.
#[derive(Debug, Default)]
pub struct Flat;

/// Entries of any type, each in a node of its own, which is freed when no thread reads it any more.
#[derive(Debug, Default)]
pub struct Boxed {
    collector: Collector,
}

impl<K: Copy, V: Copy> Storage<K, V> for Flat {}
impl<K, V> Storage<K, V> for Boxed {}

/// The interface of storages.
///
/// # Safety
///
/// `key` and `value` return what was given to `make`, until the raw entry is retired. For a thread
/// that was pinned before that, they do so until the thread unpins.
pub unsafe trait Keep<K, V>: Default {
    /// The content of a slot.
    type Raw: Copy;
    /// Keeps alive the entries that are found while it is held.
    type Pin<'t>
    where
        Self: 't;
    /// Whether dropping an entry does something.
    const OWNS: bool;
    /// The ordering with which slots are read: the one of `version`, or a stronger one.
    const READ: Ordering;

    /// Pins this thread: the entries that it finds stay alive until it drops the pin.
    fn pin(&self) -> Self::Pin<'_>;
    /// The content of a slot for an entry.
    fn make(key: K, value: V) -> Self::Raw;
    /// The entry's key.
    ///
    /// # Safety
    /// The raw entry is not retired, or this thread was pinned before.
    unsafe fn key(raw: &Self::Raw) -> &K;
    /// The entry's value.
    ///
    /// # Safety
    /// The raw entry is not retired, or this thread was pinned before.
    unsafe fn value(raw: &Self::Raw) -> &V;
    /// Drops an entry that was taken out of the table, when no thread can read it any more.
    ///
    /// # Safety
    /// The entry can't be found any more, and is retired once.
    unsafe fn retire(&self, raw: Self::Raw);
    /// Drops an entry at once.
    ///
    /// # Safety
    /// No thread can read the entry, and it is dropped once.
    unsafe fn destroy(raw: Self::Raw);
}

// SAFETY: a raw entry is the entry, and copies have nothing to drop.
unsafe impl<K: Copy, V: Copy> Keep<K, V> for Flat {
    type Raw = (K, V);
    type Pin<'t> = ();
    const OWNS: bool = false;
    const READ: Ordering = Version::<Native>::READ;

    #[inline]
    fn pin(&self) {}
    #[inline]
    fn make(key: K, value: V) -> (K, V) {
        (key, value)
    }
    #[inline]
    unsafe fn key(raw: &(K, V)) -> &K {
        &raw.0
    }
    #[inline]
    unsafe fn value(raw: &(K, V)) -> &V {
        &raw.1
    }
    #[inline]
    unsafe fn retire(&self, _: (K, V)) {}
    #[inline]
    unsafe fn destroy(_: (K, V)) {}
}

// SAFETY: a raw entry refers to a node with the entry. The collector frees a retired node once all
// threads that were pinned when the node was retired have unpinned.
unsafe impl<K, V> Keep<K, V> for Boxed {
    type Raw = NonNull<(K, V)>;
    type Pin<'t>
        = LocalGuard<'t>
    where
        Self: 't;
    const OWNS: bool = true;
    /// SeqCst: what `seize` asks of reads that a pin protects.
    const READ: Ordering = Ordering::SeqCst;

    #[inline]
    fn pin(&self) -> LocalGuard<'_> {
        self.collector.enter()
    }
    #[inline]
    fn make(key: K, value: V) -> NonNull<(K, V)> {
        NonNull::from(Box::leak(Box::new((key, value))))
    }
    #[inline]
    unsafe fn key(raw: &NonNull<(K, V)>) -> &K {
        // SAFETY: the node is alive, by the caller's promise.
        unsafe { &raw.as_ref().0 }
    }
    #[inline]
    unsafe fn value(raw: &NonNull<(K, V)>) -> &V {
        // SAFETY: the node is alive, by the caller's promise.
        unsafe { &raw.as_ref().1 }
    }
    #[inline]
    unsafe fn retire(&self, raw: NonNull<(K, V)>) {
        // SAFETY: it comes from a box, can't be found any more, and is retired once.
        unsafe { self.collector.retire(raw.as_ptr(), reclaim::<K, V>) }
    }
    unsafe fn destroy(raw: NonNull<(K, V)>) {
        // SAFETY: it comes from a box, and no other thread has it.
        drop(unsafe { Box::from_raw(raw.as_ptr()) });
    }
}

/// Frees a node, in any thread. If dropping its entry panics, the panic hook has reported that, and
/// the panic ends here, so that the other nodes of the batch are freed as well.
unsafe fn reclaim<K, V>(node: *mut (K, V), _: &Collector) {
    // SAFETY: it comes from a box, and no thread can read it any more.
    let node = unsafe { Box::from_raw(node) };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(node))) {
        // The destructor of the panic's value might panic once more.
        mem::forget(panic);
    }
}
