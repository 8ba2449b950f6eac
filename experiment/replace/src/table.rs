//! A table of functions that is exchanged at run time, so that one load finds the table to use.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A reference to a table of functions that is exchanged once.
pub struct Table<T: 'static>(AtomicPtr<T>);

impl<T> Table<T> {
    /// A reference to these functions.
    pub const fn new(first: &'static T) -> Table<T> {
        Table(AtomicPtr::new(ptr::from_ref(first).cast_mut()))
    }

    /// The functions.
    #[inline(always)]
    pub fn get(&self) -> &'static T {
        // Relaxed: the tables are constants, except one that is written before `set`, and x86
        // keeps the order of stores.
        // SAFETY: the pointer comes from a `'static` reference.
        unsafe { &*self.0.load(Relaxed) }
    }

    /// Exchanges the functions.
    pub fn set(&self, table: &'static T) {
        // Relaxed: as in `get`.
        self.0.store(ptr::from_ref(table).cast_mut(), Relaxed);
    }
}
