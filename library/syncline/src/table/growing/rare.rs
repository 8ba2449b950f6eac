//! Buckets that stand behind others: a table needs them if a bucket is too small.
//!
//! They are allocated one by one, and reused. One lock protects the lists of these buckets; a
//! thread that makes the table larger takes this lock as well.

use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;
use std::vec::Vec;

use super::bucket::{At, Buckets};
use crate::lock::{Futex, RawLock};
use crate::memory::{Data, Long, Memory};
use crate::wait::Park;

pub(super) struct Rare<R: Copy, M: Buckets<R>> {
    /// How many buckets stand behind others.
    behind: M::Long,
    lock: Futex<Park, M>,
    lists: M::Data<Lists<R, M>>,
}

/// The buckets that stand behind others, or did.
pub(super) struct Lists<R: Copy, M: Buckets<R>> {
    /// Buckets that are not in use.
    spare: Vec<At<M>>,
    /// All buckets that were allocated to stand behind others.
    made: Vec<At<M>>,
    slots: PhantomData<R>,
}

impl<R: Copy, M: Buckets<R>> Default for Rare<R, M> {
    fn default() -> Self {
        let lists = Lists { spare: Vec::new(), made: Vec::new(), slots: PhantomData };
        Self { behind: M::Long::default(), lock: Futex::default(), lists: M::Data::new(lists) }
    }
}

/// Releases the lock, even if the section panics.
struct Release<'r, M: Memory>(&'r Futex<Park, M>);

impl<M: Memory> Drop for Release<'_, M> {
    fn drop(&mut self) {
        // SAFETY: `with` has taken the lock.
        unsafe { self.0.release(&()) };
    }
}

impl<R: Copy, M: Buckets<R>> Rare<R, M> {
    /// Runs a function with exclusive access to the lists.
    pub(super) fn with<T>(&self, section: impl FnOnce(&mut Lists<R, M>) -> T) -> T {
        // SAFETY: the node is `()`, which need not stay in place.
        unsafe { self.lock.acquire(&()) };
        let _release = Release(&self.lock);
        // SAFETY: the lock is held.
        unsafe { self.lists.with(|lists| section(&mut *lists)) }
    }

    /// Counts one more bucket that stands behind another, and returns how many there are then.
    pub(super) fn one_more(&self) -> u64 {
        // Relaxed: a number and nothing else.
        self.behind.fetch_add(1, Relaxed) + 1
    }

    /// Counts one bucket less.
    pub(super) fn one_less(&self) {
        // Relaxed: as above. Adding the largest number subtracts one.
        self.behind.fetch_add(u64::MAX, Relaxed);
    }
}

impl<R: Copy, M: Buckets<R>> Lists<R, M> {
    /// A bucket that is not in use: a spare one, or else a new one.
    pub(super) fn take(&mut self) -> At<M> {
        self.spare.pop().unwrap_or_else(|| {
            let made = M::allocate_row(1);
            self.made.push(made);
            made
        })
    }

    /// Takes a bucket back.
    pub(super) fn give(&mut self, bucket: At<M>) {
        self.spare.push(bucket);
    }

    /// How many buckets were made.
    pub(super) fn made(&self) -> usize {
        self.made.len()
    }
}

impl<R: Copy, M: Buckets<R>> Drop for Lists<R, M> {
    fn drop(&mut self) {
        for bucket in self.made.drain(..) {
            // SAFETY: it was allocated in `take`, and the table is gone.
            unsafe { M::free_row(bucket, 1) };
        }
    }
}
