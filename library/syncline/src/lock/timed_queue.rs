//! The queue of MCS locks whose waiters can give up.
//!
//! Waiters are linked and each watches its own queue node. Both a waiter that gives up and the
//! thread that hands over to it exchange the queue node's state. The thread that exchanges second
//! finds what the other has done. If the waiter is second, it finds that it got the grant after
//! all. If the thread before the waiter is second, it finds that the waiter has left, removes the
//! queue node and continues with the next one. So both threads know at once whether the waiter got
//! the grant, and neither waits for the other.
//!
//! ```text
//!   WAITING -> LEFT         by the waiter, which thereby abandons the queue node
//!   WAITING -> FIRST, ...   by the thread before; the lock defines the even values from FIRST on
//!   LEFT    -> FIRST, ...   likewise; that thread finds that the queue node was abandoned
//! ```
//!
//! An abandoned queue node stays in the queue until the queue's first thread reaches it. While
//! there are [`Memory::BATCH`] abandoned nodes or more, a thread with a deadline does not join the
//! queue, but waits outside of it until some have been removed. So there are at most `BATCH`
//! abandoned nodes, plus one for each thread with a deadline that was in the queue, or about to
//! join it, when that limit was reached. Threads that come again and again with short deadlines
//! while the lock is held use a bounded amount of memory, and a hand-over passes a bounded number
//! of abandoned nodes. Threads outside the queue lose their order. A thread without a deadline
//! always joins the queue.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::time::Duration;

use bytemuck::Zeroable;

use super::handle::Handle;
use super::linked::linked;
use crate::memory::{Link, Memory, Word};
use crate::wait::{PARKED, Wait};

const WAITING: u32 = 0;
const LEFT: u32 = 2;
/// The lowest grant: the thread that gets it is now the first of the queue.
pub const FIRST: u32 = 4;

/// What an abandoned queue node adds to `Queue::left`. Bit 0 is [`PARKED`], for the threads outside
/// the queue.
const ONE_LEFT: u32 = 2;

/// The queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Queue<M: Memory> {
    tail: M::Link<QueueNode<M>>,
    /// The number of abandoned queue nodes that are still in the queue, in units of [`ONE_LEFT`],
    /// and [`PARKED`].
    left: M::Word,
}

/// A node in the queue. An abandoned node belongs to the queue's first thread when that thread
/// reaches it.
#[derive(Debug, Default)]
pub struct QueueNode<M: Memory> {
    next: M::Link<Self>,
    state: M::Word,
}

// SAFETY: a link and a word, so it may be zero when these may.
unsafe impl<M: Memory<Word: Zeroable>> Zeroable for Queue<M> where M::Link<QueueNode<M>>: Zeroable {}

impl<M: Memory> Queue<M> {
    /// A queue node that may be put into the queue.
    ///
    /// # Safety
    ///
    /// The handle is the caller's alone.
    #[inline]
    unsafe fn queue_node(handle: &Handle<QueueNode<M>, M>) -> M::Ref<QueueNode<M>> {
        // SAFETY: our caller's promise, and what the handle gives is ours until it is enqueued.
        unsafe {
            let mine = handle.take();
            let queue_node = M::follow::<QueueNode<M>>(mine);
            // Relaxed: the swap or exchange that enqueues it publishes them.
            queue_node.next.store(None, Relaxed);
            queue_node.state.store(WAITING, Relaxed);
            mine
        }
    }

    /// Joins the queue and waits to be its first. Returns the grant, which is [`FIRST`] if the
    /// queue was empty, or `None` if the deadline passed.
    ///
    /// # Safety
    ///
    /// The handle is the caller's alone, until it has left the queue.
    #[inline]
    pub unsafe fn join<W: Wait>(
        &self,
        handle: &Handle<QueueNode<M>, M>,
        deadline: Option<Duration>,
    ) -> Option<u32> {
        if deadline.is_some_and(|deadline| !self.wait_for_room::<W>(deadline)) {
            return None;
        }
        // SAFETY: our caller's promise.
        let mine = unsafe { Self::queue_node(handle) };
        // AcqRel: pairs with the Release of the exchange by which the previous first thread emptied
        // the queue, and publishes our queue node to the swap of the thread behind us.
        let Some(previous) = self.tail.swap(Some(mine), AcqRel) else { return Some(FIRST) };
        // SAFETY: our queue node stays until we abandon it or leave the queue. The node before
        // stays until the queue's first thread has seen our link, even if that node was abandoned.
        let (queue_node, before) =
            unsafe { (M::follow::<QueueNode<M>>(mine), M::follow::<QueueNode<M>>(previous)) };
        // Release: pairs with the Acquire in `behind`: our queue node is initialised.
        before.next.store(Some(mine), Release);
        if W::wait::<M>(&queue_node.state, 0, deadline, |state| state >= FIRST).is_some() {
            // Relaxed: we have just waited for it.
            return Some(queue_node.state.load(Relaxed));
        }
        // Relaxed: the swap publishes the count to the thread that passes the queue node. The queue
        // may be freed after the swap.
        self.left.fetch_add(ONE_LEFT, Relaxed);
        // Acquire: pairs with the Release of `replace`, if we got the grant after all.
        // Release: pairs with its Acquire, since the queue's first may then free the queue node.
        let granted = queue_node.state.swap(LEFT, AcqRel) & !PARKED;
        if granted < FIRST {
            return None;
        }
        self.passed();
        Some(granted)
    }

    /// Waits outside the queue while the queue has too many abandoned nodes. The queue is not empty
    /// then, so its first thread will remove them. Returns `false` if the deadline passed first.
    #[inline]
    fn wait_for_room<W: Wait>(&self, deadline: Duration) -> bool {
        let room = |left| left < M::BATCH * ONE_LEFT;
        // Relaxed: the count bounds what is in the queue, and orders nothing.
        room(self.left.load(Relaxed)) || W::wait::<M>(&self.left, 0, Some(deadline), room).is_some()
    }

    /// Takes a queue node off the count of abandoned ones: its owner got the grant after all, or
    /// the node is out of the queue. The caller is the queue's first, so the queue can't be freed
    /// meanwhile.
    #[cold]
    fn passed(&self) {
        // Relaxed: the node was counted before we knew of it.
        if self.left.fetch_sub(ONE_LEFT, Relaxed) & PARKED != 0 {
            self.wake_beside();
        }
    }

    /// Wakes all threads that wait outside the queue. A thread that continues to wait sets the mark
    /// again.
    #[cold]
    fn wake_beside(&self) {
        // Relaxed: it publishes nothing.
        self.left.fetch_and(!PARKED, Relaxed);
        M::unpark(self.left.address(), None, u32::MAX);
    }

    /// Joins the queue if it is empty.
    ///
    /// # Safety
    ///
    /// Same requirements as [`join`](Self::join).
    #[inline]
    pub unsafe fn try_join(&self, handle: &Handle<QueueNode<M>, M>) -> bool {
        // SAFETY: our caller's promise, and a queue node that is not enqueued is ours.
        unsafe {
            let mine = Self::queue_node(handle);
            // AcqRel: as the swap in `join`.
            let joined = self.tail.exchange(None, Some(mine), AcqRel);
            if !joined {
                handle.keep(mine);
            }
            joined
        }
    }

    /// Leaves the queue, and gives the grant `granted` to the thread behind, if there is one.
    ///
    /// # Safety
    ///
    /// The caller is the queue's first, with this handle.
    #[inline(always)]
    pub unsafe fn leave<W: Wait>(&self, handle: &Handle<QueueNode<M>, M>, granted: u32) {
        // SAFETY: the caller's queue node is its own, and so is each that it finds left.
        unsafe {
            let mut mine = handle.enqueued();
            let Some(mut next) = self.behind::<W>(mine) else { return handle.keep(mine) };
            while !self.grant::<W>(handle, mine, next, granted) {
                mine = next;
                let Some(one) = self.behind::<W>(mine) else { return handle.keep(mine) };
                next = one;
            }
        }
    }

    /// Leaves the queue if a waiter takes the grant `granted`, and returns whether one did.
    ///
    /// # Safety
    ///
    /// Same requirements as [`leave`](Self::leave).
    #[inline]
    pub unsafe fn pass<W: Wait>(&self, handle: &Handle<QueueNode<M>, M>, granted: u32) -> bool {
        // SAFETY: as in `leave`.
        unsafe {
            let mut mine = handle.enqueued();
            // Acquire: pairs with the Release of the link.
            while let Some(next) = M::follow::<QueueNode<M>>(mine).next.load(Acquire) {
                if self.grant::<W>(handle, mine, next, granted) {
                    return true;
                }
                mine = next;
                handle.stay_at(mine);
            }
            false
        }
    }

    /// A word that the queue's first may use for its own purposes.
    ///
    /// # Safety
    ///
    /// Same requirements as [`leave`](Self::leave); the reference lives for as long as the caller
    /// is the first.
    #[inline]
    pub unsafe fn note<'a>(handle: &Handle<QueueNode<M>, M>) -> &'a M::Word {
        // SAFETY: the caller's queue node is its own, and no other thread uses its state any more.
        unsafe { &M::follow::<QueueNode<M>>(handle.enqueued()).state }
    }

    /// Whether a queue node is behind the first; its waiter may have given up.
    ///
    /// # Safety
    ///
    /// Same requirements as [`leave`](Self::leave).
    #[inline]
    pub unsafe fn is_followed(handle: &Handle<QueueNode<M>, M>) -> bool {
        // SAFETY: the caller's queue node is its own. Relaxed: a hint.
        unsafe { M::follow::<QueueNode<M>>(handle.enqueued()).next.load(Relaxed).is_some() }
    }

    /// Gives `mine` back to the handle, and the grant `granted` to `next`. Returns `false` if
    /// `next` was abandoned; then `next` belongs to the caller.
    ///
    /// # Safety
    ///
    /// `mine` is the caller's and first, `next` is behind it.
    #[inline]
    unsafe fn grant<W: Wait>(
        &self,
        handle: &Handle<QueueNode<M>, M>,
        mine: M::Ref<QueueNode<M>>,
        next: M::Ref<QueueNode<M>>,
        granted: u32,
    ) -> bool {
        // SAFETY: the next queue node stays until we have written the grant to it. No thread uses
        // ours any more, since the next one is linked.
        unsafe {
            let left = W::replace::<M>(&M::follow::<QueueNode<M>>(next).state, granted) == LEFT;
            handle.keep(mine);
            if left {
                self.passed();
            }
            !left
        }
    }

    /// The queue node behind the first one; if there is none, empties the queue and returns `None`.
    ///
    /// # Safety
    ///
    /// `mine` is the caller's and first.
    #[inline]
    unsafe fn behind<W: Wait>(&self, mine: M::Ref<QueueNode<M>>) -> Option<M::Ref<QueueNode<M>>> {
        // SAFETY: our caller's promise.
        let queue_node = unsafe { M::follow::<QueueNode<M>>(mine) };
        // Acquire: pairs with the Release of the link.
        let next = queue_node.next.load(Acquire);
        // Release: pairs with the Acquire of the next swap or exchange.
        if next.is_some() || self.tail.exchange(Some(mine), None, Release) {
            return next;
        }
        Some(linked::<W, M, _>(&queue_node.next))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::iter::successors;
    use std::ptr::NonNull;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::memory::Native;
    use crate::wait::Park;

    type At = Handle<QueueNode<Native>, Native>;

    fn next(queue_node: &NonNull<QueueNode<Native>>) -> Option<NonNull<QueueNode<Native>>> {
        // SAFETY: what is in the queue stays until its first leaves.
        Link::load(&unsafe { Native::follow::<QueueNode<Native>>(*queue_node) }.next, Acquire)
    }

    /// How many queue nodes are in the queue behind its first.
    fn behind(first: &At) -> usize {
        // SAFETY: the handle is this test's alone.
        successors(next(&unsafe { first.enqueued() }), next).count()
    }

    /// Joins the queue `times` times with a deadline that has passed, and gives up each time.
    fn give_up(queue: &Queue<Native>, times: usize) {
        for _ in 0..times {
            // SAFETY: the handle is ours alone, and is out of the queue after the refusal.
            assert!(unsafe { queue.join::<Park>(&At::default(), Some(Duration::ZERO)) }.is_none());
        }
    }

    #[test]
    fn who_gives_up_again_and_again_leaves_a_bounded_number_of_places() {
        let (queue, first) = (Queue::<Native>::default(), At::default());
        // SAFETY: the handles are this test's alone, and what joins leaves again.
        unsafe {
            assert_eq!(queue.join::<Park>(&first, None), Some(FIRST));
            give_up(&queue, 10_000);
            assert_eq!(behind(&first), Native::BATCH as usize);
            queue.leave::<Park>(&first, FIRST);
            assert!(queue.try_join(&first), "abandoned nodes are left");
            assert_eq!(queue.left.load(Relaxed) & !PARKED, 0);
            queue.leave::<Park>(&first, FIRST);
        }
    }

    #[test]
    fn who_waits_beside_the_queue_goes_on_when_a_first_one_leaves() {
        let (queue, first) = (Queue::<Native>::default(), At::default());
        let patience = Duration::from_secs(100);
        thread::scope(|scope| {
            // SAFETY: the handles are their threads' alone, and what joins leaves again.
            unsafe {
                queue.join::<Park>(&first, None);
                give_up(&queue, Native::BATCH as usize);
                let start = Instant::now();
                let beside = scope.spawn(|| {
                    let mine = At::default();
                    let granted = queue.join::<Park>(&mine, Some(Native::now() + patience));
                    assert_eq!(granted, Some(FIRST));
                    queue.leave::<Park>(&mine, FIRST);
                });
                while queue.left.load(Relaxed) & PARKED == 0 {
                    thread::yield_now();
                }
                assert_eq!(behind(&first), Native::BATCH as usize);
                queue.leave::<Park>(&first, FIRST);
                beside.join().unwrap();
                assert!(start.elapsed() < patience / 2, "it was not woken");
            }
        });
    }
}
