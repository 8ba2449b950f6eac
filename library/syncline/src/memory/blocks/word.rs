//! A word of a slot, accessed atomically whether or not all its bytes are initialised.
//!
//! A slot's value may have padding, and a copy of it may be torn. `core`'s atomics can't access
//! bytes that may be uninitialised. The crate `atomic-maybe-uninit` can, by inline assembly.
//!
//! WebAssembly has no such accesses. But it usually has a single thread, which needs none.
//!
//! Miri runs no assembly. Under Miri a word is a pointer, since a slot may hold a pointer, and a
//! pointer that is read as a number can't be dereferenced. So Miri rejects values with padding, as
//! reads of uninitialised memory.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering;

/// The content of a word before bytes of a slot's value are copied into it. If the value does not
/// fill its last word, the remaining bytes of that word keep this content.
#[inline(always)]
pub(super) fn blank() -> MaybeUninit<usize> {
    if cfg!(miri) { MaybeUninit::zeroed() } else { MaybeUninit::uninit() }
}

#[cfg(not(any(miri, target_family = "wasm")))]
mod access {
    use atomic_maybe_uninit::raw::{AtomicLoad, AtomicStore};

    use super::{MaybeUninit, Ordering};

    /// # Safety
    ///
    /// The word is aligned and lives, and all accesses to it are atomic.
    #[inline(always)]
    pub unsafe fn load(word: *mut MaybeUninit<usize>, order: Ordering) -> MaybeUninit<usize> {
        // SAFETY: our caller's promise.
        unsafe { usize::atomic_load(word, order) }
    }

    /// # Safety
    ///
    /// Same requirements as [`load`].
    #[inline(always)]
    pub unsafe fn store(word: *mut MaybeUninit<usize>, value: MaybeUninit<usize>, order: Ordering) {
        // SAFETY: our caller's promise.
        unsafe { usize::atomic_store(word, value, order) };
    }
}

#[cfg(miri)]
mod access {
    use core::mem::transmute;
    use core::sync::atomic::AtomicPtr;

    use super::{MaybeUninit, Ordering};

    /// # Safety
    ///
    /// The word is aligned and lives, and all accesses to it are atomic.
    pub unsafe fn load(word: *mut MaybeUninit<usize>, order: Ordering) -> MaybeUninit<usize> {
        // SAFETY: our caller's promise; a pointer has the size of the word, and its address need
        // not be valid.
        unsafe { transmute(AtomicPtr::<()>::from_ptr(word.cast()).load(order)) }
    }

    /// # Safety
    ///
    /// Same requirements as [`load`], and all bytes are initialised.
    pub unsafe fn store(word: *mut MaybeUninit<usize>, value: MaybeUninit<usize>, order: Ordering) {
        // SAFETY: our caller's promise; any bits are a valid value of a raw pointer.
        unsafe { AtomicPtr::<()>::from_ptr(word.cast()).store(transmute(value), order) };
    }
}

#[cfg(target_family = "wasm")]
mod access {
    use super::{MaybeUninit, Ordering};

    #[cfg(target_feature = "atomics")]
    compile_error!(
        "on WebAssembly with threads the tables that grow can't be built, since its atomic \
         accesses are to initialised words only: leave out the feature `std`"
    );

    /// # Safety
    ///
    /// The word is aligned and lives.
    #[inline(always)]
    pub unsafe fn load(word: *mut MaybeUninit<usize>, _: Ordering) -> MaybeUninit<usize> {
        // SAFETY: our caller's promise; no other thread is there.
        unsafe { word.read() }
    }

    /// # Safety
    ///
    /// Same requirements as [`load`].
    #[inline(always)]
    pub unsafe fn store(word: *mut MaybeUninit<usize>, value: MaybeUninit<usize>, _: Ordering) {
        // SAFETY: as in `load`.
        unsafe { word.write(value) };
    }
}

pub(super) use access::{load, store};
