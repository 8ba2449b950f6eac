//! The memory of a simulated machine: words are plain numbers, and an access takes as much
//! simulated time as it would take on that machine.
//!
//! A run uses one thread of the real machine, and each access takes effect at one moment of
//! simulated time. If threads have store buffers, a store that is not sequentially consistent may
//! take effect after later loads of its thread, as on x86 and SPARC (total store order). All other
//! accesses are ordered as if all were sequentially consistent, whatever ordering the program
//! requests. The costs of atomic operations come from tables that were measured with fences, so a
//! weaker ordering makes them no cheaper.
//!
//! Outside of a simulation, an access takes no time: locks can be created before a run, and
//! counters can be read after it.

mod blocks;
mod change;
mod held;
pub mod long;
mod pool;

use std::alloc::Layout;
use std::cell::{Cell, UnsafeCell};
use std::fmt::{self, Debug, Formatter};
use std::ptr::{NonNull, from_ref};
use std::sync::atomic::Ordering;
use std::time::Duration;

use syncline::memory::{Address, Data, Link, Memory, OnStack, Padded, Word};

use self::change::{change, fetch_for_writing, forget, load, seen, store};
use crate::engine::{act, act_after, depends, fence, with};
use crate::machine::{Access, LINE};

/// The memory of the machine that is being simulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulated;

// SAFETY: accesses take effect one at a time, and a reference is a pointer to its node.
unsafe impl Memory for Simulated {
    type Word = SimulatedWord;
    type Link<T> = SimulatedLink<T>;
    type Ref<T> = NonNull<T>;
    type Data<T> = SimulatedData<T>;
    type Own<T: Default> = OnStack<T>;

    /// Fewer looks than on a real machine, with longer pauses between them, since each look costs
    /// the simulator an event.
    const PATIENCE: u32 = 20;
    const BATCH: u32 = 64;

    fn refer<T>(node: &T) -> NonNull<T> {
        NonNull::from_ref(node)
    }

    unsafe fn follow<'a, T: 'a>(node: NonNull<T>) -> &'a T {
        depends();
        // SAFETY: the caller keeps the node alive and in place.
        unsafe { node.as_ref() }
    }

    fn allocate<T: Default>() -> NonNull<T> {
        let memory = pool::take(with(|engine| engine.thread()), Layout::new::<Padded<T>>());
        let node = memory.cast::<Padded<T>>();
        // SAFETY: the memory has this layout, and no other code uses it.
        unsafe { node.write(Padded::default()) };
        node.cast()
    }

    unsafe fn free<T>(node: NonNull<T>) {
        let node = node.cast::<Padded<T>>();
        // SAFETY: the caller promises that the node comes from `allocate`, so it is the first field
        // of a `Padded`, in memory from the pool with this layout, and that no thread uses it any
        // more.
        unsafe {
            node.drop_in_place();
            let thread = with(|engine| engine.thread());
            pool::give(thread, Layout::new::<Padded<T>>(), node.cast());
        }
    }

    #[inline]
    fn pause(looks: u32) {
        act(|engine| engine.pause(looks, Self::PATIENCE));
    }

    #[inline]
    fn delay(units: u32) {
        act(|engine| engine.back_off(units));
    }

    fn yield_now() {
        fence();
        act(|engine| engine.yield_processor());
    }

    fn park(word: &SimulatedWord, expected: u32, key: u32, deadline: Option<Duration>) {
        // Sleeping calls the kernel, so all earlier stores take effect first.
        fence();
        if seen(&word.value) != expected {
            return;
        }
        let deadline = deadline.map(|deadline| deadline.as_secs_f64());
        act(|engine| engine.park(word.at(), key, deadline));
        with(|engine| engine.awake(word.at()));
    }

    fn unpark(address: Address, key: Option<u32>, count: u32) {
        fence();
        with(|engine| engine.unpark(address.0, key, count));
    }

    fn now() -> Duration {
        Duration::from_secs_f64(with(|engine| engine.seconds()).unwrap_or(0.0))
    }

    fn group(level: usize) -> usize {
        with(|engine| engine.group(level)).unwrap_or(0)
    }

    fn is_divided(level: usize) -> bool {
        with(|engine| engine.is_divided(level)).unwrap_or(true)
    }

    #[inline]
    fn prefetch_for_write(word: &SimulatedWord) {
        fetch_for_writing(word.at());
    }

    /// A simulated thread can't interrupt others, so both sides of this barrier execute a fence.
    fn light_barrier() {
        fence();
    }

    fn heavy_barrier() {
        fence();
    }
}

/// A shared word of 32 bits in simulated memory.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SimulatedWord {
    value: Cell<u32>,
}

// SAFETY: A simulation runs in one thread of the real machine, and its simulated threads are
// coroutines, so shared words stay in that thread. Before and after the simulation, the owner of
// the lock or other object that contains the word has exclusive access.
unsafe impl Send for SimulatedWord {}
// SAFETY: as above.
unsafe impl Sync for SimulatedWord {}

impl Drop for SimulatedWord {
    fn drop(&mut self) {
        forget(&self.value);
    }
}

impl SimulatedWord {
    #[inline]
    fn at(&self) -> usize {
        from_ref(self).addr()
    }

    #[inline]
    fn change(&self, access: Access, to: impl Fn(u32) -> u32) -> u32 {
        change(&self.value, access, to)
    }
}

impl Word for SimulatedWord {
    #[inline]
    fn load(&self, _: Ordering) -> u32 {
        load(&self.value)
    }
    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        store(&self.value, value, order);
    }
    #[inline]
    fn swap(&self, value: u32, _: Ordering) -> u32 {
        self.change(Access::Swap, |_| value)
    }
    #[inline]
    fn fetch_add(&self, value: u32, _: Ordering) -> u32 {
        self.change(Access::FetchAndIncrement, |old| old.wrapping_add(value))
    }
    #[inline]
    fn fetch_sub(&self, value: u32, _: Ordering) -> u32 {
        self.change(Access::FetchAndIncrement, |old| old.wrapping_sub(value))
    }
    #[inline]
    fn fetch_or(&self, bits: u32, _: Ordering) -> u32 {
        self.change(Access::TestAndSet, |old| old | bits)
    }
    #[inline]
    fn fetch_and(&self, bits: u32, _: Ordering) -> u32 {
        self.change(Access::TestAndSet, |old| old & bits)
    }
    #[inline]
    fn exchange(&self, old: u32, new: u32, _: Ordering) -> Result<u32, u32> {
        let was = self.change(Access::CompareAndSwap, |was| if was == old { new } else { was });
        if was == old { Ok(was) } else { Err(was) }
    }
    #[inline]
    fn address(&self) -> Address {
        Address(self.at())
    }
}

/// A shared reference to a node in simulated memory.
pub struct SimulatedLink<T> {
    node: Cell<Option<NonNull<T>>>,
}

// SAFETY: same argument as for `SimulatedWord`.
unsafe impl<T> Send for SimulatedLink<T> {}
// SAFETY: same argument as for `SimulatedWord`.
unsafe impl<T> Sync for SimulatedLink<T> {}

impl<T> Default for SimulatedLink<T> {
    fn default() -> Self {
        SimulatedLink { node: Cell::new(None) }
    }
}

impl<T> Debug for SimulatedLink<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedLink").field("node", &self.node.get()).finish()
    }
}

impl<T> Drop for SimulatedLink<T> {
    fn drop(&mut self) {
        forget(&self.node);
    }
}

impl<T> Link<NonNull<T>> for SimulatedLink<T> {
    #[inline]
    fn load(&self, _: Ordering) -> Option<NonNull<T>> {
        load(&self.node)
    }
    #[inline]
    fn store(&self, node: Option<NonNull<T>>, order: Ordering) {
        store(&self.node, node, order);
    }
    #[inline]
    fn swap(&self, node: Option<NonNull<T>>, _: Ordering) -> Option<NonNull<T>> {
        change(&self.node, Access::Swap, |_| node)
    }
    #[inline]
    fn exchange(&self, old: Option<NonNull<T>>, new: Option<NonNull<T>>, _: Ordering) -> bool {
        let to = |was| if was == old { new } else { was };
        change(&self.node, Access::CompareAndSwap, to) == old
    }
}

/// Ordinary data that several threads access. An access by [`Data::with`] costs a store to each
/// line of the data, and an access by [`Data::look`] costs a load of each line. A core that runs
/// ahead makes these stores or loads at the same time. The caller's next step may depend on the
/// data, so the core waits for all of them.
#[derive(Debug, Default)]
pub struct SimulatedData<T> {
    value: UnsafeCell<T>,
}

// SAFETY: same argument as for `SimulatedWord`.
unsafe impl<T: Send> Send for SimulatedData<T> {}
// SAFETY: same argument as for `SimulatedWord`.
unsafe impl<T: Send> Sync for SimulatedData<T> {}

impl<T> SimulatedData<T> {
    /// Accesses each line of the data.
    #[inline]
    fn access(&self, access: Access) {
        let (from, bytes) = (self.value.get().addr(), size_of::<T>().max(1));
        let mut at = from;
        while at < from + bytes {
            let end = (at / LINE * LINE + LINE).min(from + bytes);
            let words = (end - at).div_ceil(size_of::<u64>()) as u64;
            act_after(
                |engine| engine.wait_for_line(at),
                |engine| engine.access_words(access, at, words),
            );
            at = end;
        }
    }
}

impl<T> Data<T> for SimulatedData<T> {
    fn new(value: T) -> Self {
        SimulatedData { value: UnsafeCell::new(value) }
    }
    unsafe fn with<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        self.access(Access::Store);
        depends();
        access(self.value.get())
    }
    unsafe fn look<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        self.access(Access::Load);
        depends();
        access(self.value.get())
    }
    fn into_inner(self) -> T {
        self.value.into_inner()
    }
}
