//! Words and links over shuttle's atomics.

use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;
use std::sync::atomic::Ordering::SeqCst;

use shuttle::sync::atomic::{AtomicPtr, AtomicU32};
use syncline::memory::{Address, Link, Word};

/// A word of 32 bits.
#[derive(Debug, Default)]
pub struct ShuttleWord(AtomicU32);

impl Word for ShuttleWord {
    fn load(&self, _: Ordering) -> u32 {
        self.0.load(SeqCst)
    }
    fn store(&self, value: u32, _: Ordering) {
        self.0.store(value, SeqCst);
    }
    fn swap(&self, value: u32, _: Ordering) -> u32 {
        self.0.swap(value, SeqCst)
    }
    fn fetch_add(&self, value: u32, _: Ordering) -> u32 {
        self.0.fetch_add(value, SeqCst)
    }
    fn fetch_sub(&self, value: u32, _: Ordering) -> u32 {
        self.0.fetch_sub(value, SeqCst)
    }
    fn fetch_or(&self, bits: u32, _: Ordering) -> u32 {
        self.0.fetch_or(bits, SeqCst)
    }
    fn fetch_and(&self, bits: u32, _: Ordering) -> u32 {
        self.0.fetch_and(bits, SeqCst)
    }
    fn exchange(&self, old: u32, new: u32, _: Ordering) -> Result<u32, u32> {
        self.0.compare_exchange(old, new, SeqCst, SeqCst)
    }
    fn address(&self) -> Address {
        Address(ptr::from_ref(self).addr())
    }
}

/// A reference to a node: its address.
pub struct ShuttleRef<T>(pub(super) NonNull<T>);

impl<T> Clone for ShuttleRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ShuttleRef<T> {}

impl<T> PartialEq for ShuttleRef<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for ShuttleRef<T> {}

impl<T> fmt::Debug for ShuttleRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A reference to a node, or none.
pub struct ShuttleLink<T>(AtomicPtr<T>);

impl<T> fmt::Debug for ShuttleLink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShuttleLink")
    }
}

impl<T> Default for ShuttleLink<T> {
    fn default() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }
}

fn pointer<T>(node: Option<ShuttleRef<T>>) -> *mut T {
    node.map_or(ptr::null_mut(), |node| node.0.as_ptr())
}

fn reference<T>(pointer: *mut T) -> Option<ShuttleRef<T>> {
    NonNull::new(pointer).map(ShuttleRef)
}

impl<T> Link<ShuttleRef<T>> for ShuttleLink<T> {
    fn load(&self, _: Ordering) -> Option<ShuttleRef<T>> {
        reference(self.0.load(SeqCst))
    }
    fn store(&self, node: Option<ShuttleRef<T>>, _: Ordering) {
        self.0.store(pointer(node), SeqCst);
    }
    fn swap(&self, node: Option<ShuttleRef<T>>, _: Ordering) -> Option<ShuttleRef<T>> {
        reference(self.0.swap(pointer(node), SeqCst))
    }
    fn exchange(
        &self,
        old: Option<ShuttleRef<T>>,
        new: Option<ShuttleRef<T>>,
        _: Ordering,
    ) -> bool {
        self.0.compare_exchange(pointer(old), pointer(new), SeqCst, SeqCst).is_ok()
    }
}
