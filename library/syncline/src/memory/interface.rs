//! The traits of a memory: words, links, data, nodes, and waiting.

use core::fmt::Debug;
use core::ops::Deref;
use core::sync::atomic::Ordering::{self, SeqCst};
use core::sync::atomic::fence;
use core::time::Duration;

/// A shared memory and the threads that use it.
///
/// # Safety
///
/// Words and links must be atomic with the orderings of `core::sync::atomic`, and
/// [`follow`](Self::follow) must lead to the node that the reference was made from.
pub unsafe trait Memory: Copy + Default + Debug + Send + Sync + 'static {
    /// A shared word of 32 bits.
    type Word: Word;
    /// A shared reference to a node, or to none.
    type Link<T>: Link<Self::Ref<T>>;
    /// The content of a link. It identifies a node, without keeping the node alive.
    type Ref<T>: Copy + Eq;
    /// Ordinary data that a lock protects; a checker reports unordered accesses to it.
    type Data<T>: Data<T>;
    /// Where a caller keeps a node that others may reach during one call: on the caller's stack
    /// ([`OnStack`](super::OnStack)) or, if others can't reach the stack, in the caller's own
    /// segment ([`Pooled`](super::Pooled)).
    type Own<T: Default>: Deref<Target = T> + Default;

    /// How many times a waiter polls a word before it does something slower, such as yielding.
    const PATIENCE: u32;
    /// How many times in a row a lock may be handed over within a group of near threads while
    /// others wait. The same limit holds for the number of other threads' sections that a thread
    /// runs in a row. A queue that has this many abandoned nodes admits no more waiters with a
    /// deadline. In a checker's memory the limit is small, so that it is reached.
    const BATCH: u32;

    /// A reference to a node that this thread has supplied or keeps. If the memory has several
    /// segments, the node lies in this thread's.
    fn refer<T>(node: &T) -> Self::Ref<T>;

    /// The node of a reference.
    ///
    /// # Safety
    ///
    /// The node must be alive, and stay where it is, for the lifetime `'a`.
    unsafe fn follow<'a, T: 'a>(node: Self::Ref<T>) -> &'a T;

    /// A new node on a line of its own, near this thread: in the thread's segment, if the memory
    /// has several segments. It stays where it is until [`free`](Self::free).
    fn allocate<T: Default>() -> Self::Ref<T>;

    /// Gives a node back, from any thread.
    ///
    /// # Safety
    ///
    /// The node comes from [`allocate`](Self::allocate), and no thread uses it any more.
    unsafe fn free<T>(node: Self::Ref<T>);

    /// The pause between two looks at a word; `looks` is the number of looks since the wait began,
    /// counted from 1. Pauses grow with this number.
    fn pause(looks: u32);

    /// Like [`pause`](Self::pause), in a loop that reads this word or link. From the address, a
    /// memory knows whether a read is cheap or goes to another segment.
    #[inline(always)]
    fn pause_at<T>(_word: &T, looks: u32) {
        Self::pause(looks);
    }

    /// Stays away from shared memory for roughly `units` times the time in which a cache line
    /// changes hands.
    fn delay(units: u32);

    /// Lets another thread run on this processor.
    fn yield_now();

    /// Sleeps if `word` holds `expected`, until [`unpark`](Self::unpark) with the same key, the
    /// deadline, or a spurious wake-up. The check of the word and the falling asleep are one atomic
    /// step.
    fn park(word: &Self::Word, expected: u32, key: u32, deadline: Option<Duration>);

    /// Wakes up to `count` of the threads that sleep on the word at this address: those with this
    /// key or, if it is `None`, with any key. May wake others as well. Doesn't access the word,
    /// which may already be freed.
    fn unpark(address: Address, key: Option<u32>, count: u32);

    /// The time since some moment in the past. Deadlines are on this clock.
    fn now() -> Duration;

    /// The number of this thread's group of near processors, from 0. Level 0 is the widest
    /// (sockets), and each further one divides the groups of the one before. The number is a hint,
    /// since the thread may move at any time.
    fn group(level: usize) -> usize;

    /// Whether a level has several groups. The answer is a hint: it may take a while until the
    /// groups are known.
    #[inline]
    fn is_divided(_level: usize) -> bool {
        true
    }

    /// Fetches the word's line for writing, if the machine can: a read would fetch the line shared,
    /// and the write would then have to invalidate the other copies (SSYNC, section 5.3).
    fn prefetch_for_write(word: &Self::Word);

    /// Prefetches the word's line for reading, if the machine can.
    fn prefetch(_: &Self::Word) {}

    /// The cheap side of an asymmetric barrier; the other side is
    /// [`heavy_barrier`](Self::heavy_barrier).
    ///
    /// If one thread stores, has a light barrier and then loads, and another stores, has a heavy
    /// barrier and then loads, at least one of them sees what the other has stored. Two light
    /// barriers guarantee nothing.
    #[inline]
    fn light_barrier() {
        fence(SeqCst);
    }

    /// The expensive side of an asymmetric barrier, which pays for both. It may be a system call
    /// that interrupts all other threads of the process: use it for rare events, such as falling
    /// asleep.
    fn heavy_barrier() {
        fence(SeqCst);
    }

    /// Called when a thread begins a critical section, or begins to read what a section has
    /// written. At this point a distributed memory invalidates this thread's cached copies of
    /// others' data.
    #[inline(always)]
    fn acquired() {}

    /// Called when a thread is about to end a critical section. At this point a distributed memory
    /// makes this thread's writes known to others.
    #[inline(always)]
    fn releasing() {}
}

/// Where a caller keeps its node during one call; see [`Memory::Own`].
pub type Own<T, M> = <M as Memory>::Own<T>;

/// Identifies a word to [`Memory::unpark`], even after the word was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub usize);

/// A shared word of 32 bits, initially 0.
pub trait Word: Default + Debug + Send + Sync {
    /// Reads the word.
    fn load(&self, order: Ordering) -> u32;
    /// Writes the word.
    fn store(&self, value: u32, order: Ordering);
    /// Writes the word and returns what it held.
    fn swap(&self, value: u32, order: Ordering) -> u32;
    /// Adds, wrapping around, and returns what the word held.
    fn fetch_add(&self, value: u32, order: Ordering) -> u32;
    /// Subtracts, wrapping around, and returns what the word held.
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32;
    /// Sets bits, and returns what the word held.
    fn fetch_or(&self, bits: u32, order: Ordering) -> u32;
    /// Keeps only these bits, and returns what the word held.
    fn fetch_and(&self, bits: u32, order: Ordering) -> u32;
    /// Writes `new` if the word holds `old`; the error is what it held instead. Does not fail for
    /// other reasons. A failed exchange has the ordering of a Relaxed load.
    fn exchange(&self, old: u32, new: u32, order: Ordering) -> Result<u32, u32>;
    /// The name of this word for [`Memory::unpark`].
    fn address(&self) -> Address;
}

/// A shared reference to a node, initially empty.
pub trait Link<R: Copy>: Default + Debug + Send + Sync {
    /// Reads the link.
    fn load(&self, order: Ordering) -> Option<R>;
    /// Writes the link.
    fn store(&self, node: Option<R>, order: Ordering);
    /// Writes the link and returns what it held.
    fn swap(&self, node: Option<R>, order: Ordering) -> Option<R>;
    /// Writes `new` if the link holds `old`, and says whether it did. Does not fail for other
    /// reasons. A failed exchange has the ordering of a Relaxed load.
    fn exchange(&self, old: Option<R>, new: Option<R>, order: Ordering) -> bool;
}

/// Ordinary data, shared under some lock's protection.
///
/// Data may be sent between threads only if `T: Send`. A type that contains data has to implement
/// `Send` itself, with this condition.
///
/// ```compile_fail,E0277
/// use std::rc::Rc;
/// use syncline::memory::{Data, Memory, Native};
///
/// let data = <Native as Memory>::Data::<Rc<u32>>::new(Rc::new(7));
/// std::thread::spawn(move || data.into_inner());
/// ```
pub trait Data<T> {
    /// Data with this value.
    fn new(value: T) -> Self;
    /// Calls `access` with the data's address, to read or write the data.
    ///
    /// # Safety
    ///
    /// No other thread accesses the data meanwhile, and the last access happened before.
    unsafe fn with<R>(&self, access: impl FnOnce(*mut T) -> R) -> R;
    /// Calls `access` with the data's address, to read the data. Several threads may do that at
    /// once.
    ///
    /// # Safety
    ///
    /// No thread changes the data meanwhile, and the last change happened before.
    unsafe fn look<R>(&self, access: impl FnOnce(*const T) -> R) -> R;
    /// Takes the value out.
    fn into_inner(self) -> T;
}
