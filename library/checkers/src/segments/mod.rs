//! A memory of two segments in one process, over a checker's memory or the native one.
//!
//! A [`Memory`] that several ranks share is accessed only by functions: a word's bytes are not at
//! its address, a reference is a rank and a displacement, and a node that other ranks must reach
//! has to lie in a segment. This memory is as strict, so a lock that relies on more fails:
//!
//! - **Every access goes through a word.** Addresses in segments can be used in calculations, but
//!   not accessed (`storage.rs`): an access that bypasses the functions of words, links and data
//!   faults.
//! - **Words lie in segments.** Other ranks could not reach a word on a stack, so it must not be
//!   accessed at all.
//! - **A node lies in its owner's segment.** A thread makes references to nodes of its own segment
//!   only.
//! - **Freed nodes** must be neither followed nor accessed, and all nodes must be freed in the end.
//!   The checker checks that a node's uses happen before its end: with each node, one of the
//!   checker's own nodes is allocated and freed.
//!
//! Threads with even numbers belong to the first segment, the others to the second; the threads of
//! a segment are also a group. [`Memory::pause_at`] gets the word that is polled. So polls are
//! counted ([`looks`]), separately for words in the thread's own segment and in others.

mod storage;
mod words;

use std::alloc::Layout;
use std::cell::Cell;
use std::marker::PhantomData;
use std::thread::panicking;
use std::time::Duration;

use syncline::memory::{Address, Memory, Pooled};

use self::storage::{Position, SEGMENTS};
pub use self::words::{SegmentData, SegmentLink, SegmentRef, SegmentWord};
use crate::engine::Engine;

/// Two segments over a checker's memory, or the native one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segments<M: Engine>(PhantomData<M>);

/// The checker's node that lives as long as a node in a segment.
#[derive(Default)]
struct Life;

std::thread_local! {
    static LOOKS: Cell<Looks> = const { Cell::new(Looks { near: 0, remote: 0 }) };
}

/// How often waiters have polled again, by the polled word's segment.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    /// Polls of words in the waiter's own segment.
    pub near: usize,
    /// Polls of words in other segments.
    pub remote: usize,
}

/// Returns the polls of this system thread since the last call. All threads of a checker run on one
/// system thread.
pub fn looks() -> Looks {
    LOOKS.replace(Looks { near: 0, remote: 0 })
}

impl<M: Engine> Segments<M> {
    /// The segment of this thread.
    fn segment() -> usize {
        M::number() % SEGMENTS
    }

    /// The checker's node that lives as long as the node at this position. Panics if it was freed.
    fn life(position: Position) -> M::Ref<Life> {
        let header = position.header().expect("a reference to a freed node was followed");
        // SAFETY: written in `allocate`, and valid until the block is freed.
        unsafe { header.storage::<M::Ref<Life>>().read() }
    }
}

// SAFETY: words and links are the checker's; a reference leads to the address that it was made
// from.
unsafe impl<M: Engine> Memory for Segments<M> {
    type Word = SegmentWord<M>;
    type Link<T> = SegmentLink<M, T>;
    type Ref<T> = SegmentRef<T>;
    type Data<T> = SegmentData<M, T>;
    type Own<T: Default> = Pooled<T, Self>;

    // Small, as for every checker, even over the native memory.
    const PATIENCE: u32 = if M::PATIENCE < 2 { M::PATIENCE } else { 2 };
    const BATCH: u32 = 2;

    fn refer<T>(node: &T) -> SegmentRef<T> {
        let position = Position::of(node).expect("a reference was made to a node in no segment");
        let home = position.segment();
        assert!(home == Self::segment(), "a reference was made to a node of another segment");
        SegmentRef::to(position)
    }

    unsafe fn follow<'a, T: 'a>(node: SegmentRef<T>) -> &'a T {
        // SAFETY: the caller promises that the node is alive, and `M::follow` checks it. The node's
        // bytes are not at the address of this reference, so no access to them uses it.
        unsafe {
            M::follow(Self::life(node.position));
            &*node.position.address()
        }
    }

    fn allocate<T: Default>() -> SegmentRef<T> {
        let value = T::default();
        let position = Position::take(Self::segment(), Layout::new::<T>());
        let header = position.header().expect("the block was just taken");
        // SAFETY: the block is new, and large enough.
        unsafe {
            header.storage::<M::Ref<Life>>().write(M::allocate());
            position.storage::<T>().write(value);
        }
        SegmentRef::to(position)
    }

    unsafe fn free<T>(node: SegmentRef<T>) {
        // A failed execution is torn down in any order.
        if panicking() {
            return;
        }
        let life = Self::life(node.position);
        // SAFETY: the node was written in `allocate`, and this is its last use. Its contents are
        // dropped at its address: each word in it finds its own bytes from there.
        unsafe {
            M::free(life);
            node.position.address::<T>().drop_in_place();
        }
        node.position.give();
    }

    fn pause(looks: u32) {
        M::waits();
        M::pause(looks);
    }

    fn pause_at<T>(word: &T, looks: u32) {
        let mut all = LOOKS.get();
        if words::is_remote(word, Self::segment()) {
            all.remote += 1;
        } else {
            all.near += 1;
        }
        LOOKS.set(all);
        Self::pause(looks);
    }

    fn delay(units: u32) {
        M::delay(units);
    }

    fn yield_now() {
        M::waits();
        M::yield_now();
    }

    fn park(word: &SegmentWord<M>, expected: u32, key: u32, deadline: Option<Duration>) {
        M::waits();
        M::park(word.reached(), expected, key, deadline);
    }

    fn unpark(address: Address, key: Option<u32>, count: u32) {
        M::unpark(address, key, count);
    }

    fn now() -> Duration {
        M::now()
    }

    fn group(level: usize) -> usize {
        let number = M::number();
        if level == 0 { Self::segment() } else { Self::segment() * 2 + number / SEGMENTS % 2 }
    }

    fn prefetch_for_write(word: &SegmentWord<M>) {
        M::prefetch_for_write(word.reached());
    }

    fn light_barrier() {
        M::light_barrier();
    }

    fn heavy_barrier() {
        M::heavy_barrier();
    }
}

impl<M: Engine> Engine for Segments<M> {
    fn run(threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
        M::run(threads, body);
    }

    fn number() -> usize {
        M::number()
    }

    fn wait_for_waiter(thread: usize) {
        M::wait_for_waiter(thread);
    }

    fn arrange() {
        M::arrange();
    }

    fn explore() {
        M::explore();
    }

    fn soon() -> Duration {
        M::soon()
    }

    fn read<T: Copy>(data: &SegmentData<M, T>) -> T {
        M::read(data.reached())
    }
}
