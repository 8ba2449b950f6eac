//! Words, links and data that are in ranks' parts.
//!
//! A word of 32 bits occupies a word of 64 bits on the fabric. The upper half is unspecified,
//! because an addition may carry into it. So if an exchange fails although the lower half of the
//! word that it found is the expected value, the exchange is repeated with the found word.

use std::cell::UnsafeCell;
use std::fmt::{self, Debug, Formatter};
use std::marker::{PhantomData, PhantomPinned};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::{ptr, slice};

use bytemuck::Zeroable;
use syncline::memory::{Address, Data, Link, Word};

use super::region::{Distance, Region};
use crate::fabric::{Change, Dead, Position};
use crate::here::Here;

/// The result of an operation on a rank that must be alive.
pub(super) fn reached<R>(result: Result<R, Dead>) -> R {
    result.unwrap_or_else(|dead| panic!("a lock's word can't be reached: {dead}"))
}

/// A value in a part. A reference to it promises the compiler nothing, since its bytes are not at
/// the reference's address.
///
/// Before the value is placed in a part, it is an ordinary value with its initial content.
#[repr(transparent)]
struct Elsewhere<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    _pinned: PhantomPinned,
}

impl<T> Elsewhere<T> {
    fn new(value: T) -> Self {
        Elsewhere { value: UnsafeCell::new(MaybeUninit::new(value)), _pinned: PhantomPinned }
    }
}

/// A word of 64 bits in a part.
#[repr(transparent)]
struct Bits<F>(Elsewhere<u64>, PhantomData<fn() -> F>);

// SAFETY: bits in a part are changed atomically, and bits that are still on a stack are not
// accessed.
unsafe impl<F> Sync for Bits<F> {}
// SAFETY: as above.
unsafe impl<F> Send for Bits<F> {}
// SAFETY: it consists of bits only.
unsafe impl<F> Zeroable for Bits<F> {}

impl<F: Here> Bits<F> {
    fn new() -> Self {
        Bits(Elsewhere::new(0), PhantomData)
    }

    fn place(&self) -> Position {
        Region::place(self).expect("a word that is accessed lies in a part")
    }

    fn change(&self, change: Change, operand: u64) -> u64 {
        reached(F::here(|fabric| fabric.fetch_and(self.place(), change, operand)))
    }

    fn exchange(&self, old: u64, new: u64) -> u64 {
        reached(F::here(|fabric| fabric.compare_and_swap(self.place(), old, new)))
    }
}

/// A word of 32 bits in a part.
#[repr(transparent)]
pub struct WindowWord<F>(Bits<F>);

// SAFETY: it consists of bits only.
unsafe impl<F> Zeroable for WindowWord<F> {}

impl<F: Here> Default for WindowWord<F> {
    fn default() -> Self {
        WindowWord(Bits::new())
    }
}

impl<F> Debug for WindowWord<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WindowWord").field(&Region::place(self)).finish()
    }
}

impl<F: Here> Word for WindowWord<F> {
    fn load(&self, _: Ordering) -> u32 {
        self.0.change(Change::Keep, 0) as u32
    }
    fn store(&self, value: u32, _: Ordering) {
        self.0.change(Change::Replace, value.into());
    }
    fn swap(&self, value: u32, _: Ordering) -> u32 {
        self.0.change(Change::Replace, value.into()) as u32
    }
    fn fetch_add(&self, value: u32, _: Ordering) -> u32 {
        self.0.change(Change::Add, value.into()) as u32
    }
    fn fetch_sub(&self, value: u32, _: Ordering) -> u32 {
        self.0.change(Change::Add, u64::from(value).wrapping_neg()) as u32
    }
    fn fetch_or(&self, bits: u32, _: Ordering) -> u32 {
        self.0.change(Change::Or, bits.into()) as u32
    }
    fn fetch_and(&self, bits: u32, _: Ordering) -> u32 {
        self.0.change(Change::And, bits.into()) as u32
    }
    fn exchange(&self, old: u32, new: u32, _: Ordering) -> Result<u32, u32> {
        let mut expected = u64::from(old);
        loop {
            let was = self.0.exchange(expected, new.into());
            if was == expected {
                return Ok(old);
            }
            if was as u32 != old {
                return Err(was as u32);
            }
            expected = was;
        }
    }
    fn address(&self) -> Address {
        Address(ptr::from_ref(self).addr())
    }
}

/// A link in a part: it refers to a node or to none.
#[repr(transparent)]
pub struct WindowLink<F, T>(Bits<F>, PhantomData<fn() -> T>);

// SAFETY: it consists of bits only.
unsafe impl<F, T> Zeroable for WindowLink<F, T> {}

impl<F: Here, T> Default for WindowLink<F, T> {
    fn default() -> Self {
        WindowLink(Bits::new(), PhantomData)
    }
}

impl<F, T> Debug for WindowLink<F, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WindowLink").field(&Region::place(self)).finish()
    }
}

impl<F: Here, T> Link<Distance<T>> for WindowLink<F, T> {
    fn load(&self, _: Ordering) -> Option<Distance<T>> {
        Distance::from_bits(self.0.change(Change::Keep, 0))
    }
    fn store(&self, node: Option<Distance<T>>, _: Ordering) {
        self.0.change(Change::Replace, Distance::bits(node));
    }
    fn swap(&self, node: Option<Distance<T>>, _: Ordering) -> Option<Distance<T>> {
        Distance::from_bits(self.0.change(Change::Replace, Distance::bits(node)))
    }
    fn exchange(&self, old: Option<Distance<T>>, new: Option<Distance<T>>, _: Ordering) -> bool {
        let old = Distance::bits(old);
        self.0.exchange(old, Distance::bits(new)) == old
    }
}

/// Data in a part. An access fetches a copy and uses it. `with` then puts the copy back, since it
/// may have changed.
#[repr(transparent)]
pub struct WindowData<F, T>(Elsewhere<T>, PhantomData<fn() -> F>);

// SAFETY: callers access the data one at a time, or only read it, as every memory's data requires.
unsafe impl<F, T: Send> Sync for WindowData<F, T> {}
// SAFETY: as above.
unsafe impl<F, T: Send> Send for WindowData<F, T> {}
// SAFETY: zero is valid for the data's type.
unsafe impl<F, T: Zeroable> Zeroable for WindowData<F, T> {}

impl<F: Here, T> WindowData<F, T> {
    fn fetch(&self) -> Option<(Position, MaybeUninit<T>)> {
        let place = Region::place(self)?;
        let mut value = MaybeUninit::<T>::zeroed();
        // SAFETY: the value has this many bytes, and all of them are initialized with zero.
        let bytes = unsafe { slice::from_raw_parts_mut(value.as_mut_ptr().cast(), size_of::<T>()) };
        reached(F::here(|fabric| fabric.get(place, bytes)));
        Some((place, value))
    }
}

impl<F: Here, T> Data<T> for WindowData<F, T> {
    /// # Panics
    ///
    /// If the value is not zero: everything in a part is initially zero.
    fn new(value: T) -> Self {
        const { assert!(!std::mem::needs_drop::<T>(), "data in a part owns nothing") };
        // SAFETY: the value has this many bytes, and none of them is padding: the caller of
        // `Region::lock` or `Region::value` promises that.
        let bytes: &[u8] =
            unsafe { slice::from_raw_parts((&raw const value).cast(), size_of::<T>()) };
        assert!(bytes.iter().all(|byte| *byte == 0), "data in a part must be zero at first");
        WindowData(Elsewhere::new(value), PhantomData)
    }
    unsafe fn with<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        let Some((place, mut value)) = self.fetch() else {
            return access(self.0.value.get().cast());
        };
        let result = access(value.as_mut_ptr());
        // SAFETY: the value has this many bytes, and none of them is padding: the caller of
        // `Region::lock` or `Region::value` promises that.
        let bytes = unsafe { slice::from_raw_parts(value.as_ptr().cast(), size_of::<T>()) };
        F::here(|fabric| {
            fabric.put(place, bytes);
            reached(fabric.flush(place.rank));
        });
        result
    }
    unsafe fn look<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        match self.fetch() {
            Some((_, value)) => access(value.as_ptr()),
            None => access(self.0.value.get().cast_const().cast()),
        }
    }
    fn into_inner(self) -> T {
        // SAFETY: a value that can be moved is not in a part, so its bytes are here.
        unsafe { self.0.value.into_inner().assume_init() }
    }
}
