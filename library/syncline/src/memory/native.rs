//! The processor's own memory: words are atomics, references are pointers, and waiters spin with
//! `pause` or sleep (on Linux, with the kernel's futex). Accesses to words and links are inlined:
//! an algorithm over this memory compiles to the same code as if it were written with
//! `core::sync::atomic`.

use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering, Ordering::Relaxed};
use core::time::Duration;

use super::interface::{Address, Data, Link, Memory, Word};
use super::node::OnStack;
use super::{barrier, group, place, pool};

/// The processor's own memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

/// How many spin-loop hints take about as long as the transfer of a cache line between processors.
/// A hint takes 40 cycles since Skylake, 5 to 10 on older and AMD processors.
const HINTS_PER_TRANSFER: u32 = 4;
/// The longest pause between two looks, in spin-loop hints. With longer pauses, waiters would lose
/// more by noticing a change late than they would save in traffic.
const LONGEST_PAUSE: u32 = if cfg!(miri) { 1 } else { 16 };

// SAFETY: the words and links are core's atomics; a reference is a pointer to its node.
unsafe impl Memory for Native {
    type Word = AtomicU32;
    type Link<T> = AtomicPtr<T>;
    type Ref<T> = NonNull<T>;
    type Data<T> = Owned<T>;
    type Own<T: Default> = OnStack<T>;

    // Small under Miri, as for any checker.
    const PATIENCE: u32 = if cfg!(miri) { 8 } else { 100 };
    const BATCH: u32 = if cfg!(miri) { 2 } else { 64 };

    #[inline(always)]
    fn refer<T>(node: &T) -> NonNull<T> {
        NonNull::from_ref(node)
    }

    #[inline(always)]
    unsafe fn follow<'a, T: 'a>(node: NonNull<T>) -> &'a T {
        // SAFETY: the caller keeps the node alive and in place.
        unsafe { node.as_ref() }
    }

    #[inline]
    fn allocate<T: Default>() -> NonNull<T> {
        pool::take()
    }

    #[inline]
    unsafe fn free<T>(node: NonNull<T>) {
        // SAFETY: the pool requires what the caller promises.
        unsafe { pool::give(node) }
    }

    #[inline]
    fn pause(looks: u32) {
        for _ in 0..looks.min(LONGEST_PAUSE) {
            spin_loop();
        }
    }

    #[inline]
    fn delay(units: u32) {
        for _ in 0..units.saturating_mul(HINTS_PER_TRANSFER) {
            spin_loop();
        }
    }

    fn yield_now() {
        place::yield_now();
    }

    fn park(word: &AtomicU32, expected: u32, key: u32, deadline: Option<Duration>) {
        place::park(word, expected, key, deadline);
    }

    fn unpark(address: Address, key: Option<u32>, count: u32) {
        place::unpark(address, key, count);
    }

    fn now() -> Duration {
        place::now()
    }

    #[inline]
    fn group(level: usize) -> usize {
        group::current(level)
    }

    #[inline]
    fn is_divided(level: usize) -> bool {
        group::is_divided(level)
    }

    #[inline(always)]
    fn prefetch_for_write(word: &AtomicU32) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch accesses nothing, and processors without it ignore it.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) ptr::from_ref(word),
                options(nostack, preserves_flags, readonly));
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: a prefetch accesses nothing.
        unsafe {
            core::arch::asm!("prfm pstl1keep, [{}]", in(reg) ptr::from_ref(word),
                options(nostack, preserves_flags, readonly));
        }
        #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        let _ = word;
    }

    #[inline(always)]
    fn prefetch(word: &AtomicU32) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch accesses nothing.
        unsafe {
            core::arch::asm!("prefetcht0 [{}]", in(reg) ptr::from_ref(word),
                options(nostack, preserves_flags, readonly));
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: a prefetch accesses nothing.
        unsafe {
            core::arch::asm!("prfm pldl1keep, [{}]", in(reg) ptr::from_ref(word),
                options(nostack, preserves_flags, readonly));
        }
        #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        let _ = word;
    }

    #[inline(always)]
    fn light_barrier() {
        barrier::light();
    }

    fn heavy_barrier() {
        barrier::heavy();
    }
}

impl Word for AtomicU32 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }
    #[inline(always)]
    fn store(&self, value: u32, order: Ordering) {
        AtomicU32::store(self, value, order);
    }
    #[inline(always)]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        AtomicU32::swap(self, value, order)
    }
    #[inline(always)]
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        AtomicU32::fetch_add(self, value, order)
    }
    #[inline(always)]
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        AtomicU32::fetch_sub(self, value, order)
    }
    #[inline(always)]
    fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        AtomicU32::fetch_or(self, bits, order)
    }
    #[inline(always)]
    fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
        AtomicU32::fetch_and(self, bits, order)
    }
    #[inline(always)]
    fn exchange(&self, old: u32, new: u32, order: Ordering) -> Result<u32, u32> {
        self.compare_exchange(old, new, order, Relaxed)
    }
    #[inline(always)]
    fn address(&self) -> Address {
        // The provenance is exposed, since Miri finds sleepers by the object at the address, not by
        // the number alone.
        Address(ptr::from_ref(self).expose_provenance())
    }
}

#[inline(always)]
fn pointer<T>(node: Option<NonNull<T>>) -> *mut T {
    node.map_or(ptr::null_mut(), NonNull::as_ptr)
}

impl<T> Link<NonNull<T>> for AtomicPtr<T> {
    #[inline(always)]
    fn load(&self, order: Ordering) -> Option<NonNull<T>> {
        NonNull::new(AtomicPtr::load(self, order))
    }
    #[inline(always)]
    fn store(&self, node: Option<NonNull<T>>, order: Ordering) {
        AtomicPtr::store(self, pointer(node), order);
    }
    #[inline(always)]
    fn swap(&self, node: Option<NonNull<T>>, order: Ordering) -> Option<NonNull<T>> {
        NonNull::new(AtomicPtr::swap(self, pointer(node), order))
    }
    #[inline(always)]
    fn exchange(&self, old: Option<NonNull<T>>, new: Option<NonNull<T>>, order: Ordering) -> bool {
        self.compare_exchange(pointer(old), pointer(new), order, Relaxed).is_ok()
    }
}

/// Ordinary data in the processor's memory.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Owned<T>(UnsafeCell<T>);

impl<T> Owned<T> {
    /// Like [`Data::new`], but `const`.
    #[inline(always)]
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

// SAFETY: shared data is reached only through `with` and `look`, whose callers take turns or only
// read. So the data moves from thread to thread, and several threads may read it. The code that
// shares the data between threads promises that both are allowed.
unsafe impl<T: Send> Sync for Owned<T> {}
// SAFETY: data of a type that may be zero may be zero.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for Owned<T> {}

impl<T> Data<T> for Owned<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
    #[inline(always)]
    unsafe fn with<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
    #[inline(always)]
    unsafe fn look<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        access(self.0.get())
    }
    #[inline(always)]
    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
