//! The hierarchical CLH lock: each queue of near waiters is spliced as a whole into one queue for
//! all.
//!
//! As in the CLH lock, each waiter watches the node before its own. Each group of near processors
//! has a queue, and a thread that wants the lock appends its node to the queue of its group. The
//! first thread in that queue is the group's master. After a short delay the master appends all
//! nodes that have gathered in the queue to the global queue, in one step. So neighbours in the
//! global queue are near each other, and the global tail is written once for all of them. The last
//! node that the master spliced stays the tail of the group's queue, with a mark. The thread behind
//! that node in the group's queue, or the next thread to come, is the next master.
//!
//! An uncontended acquisition costs two exchanges. It costs one more if waiters park, and one more
//! if the previous holder was in another group. There is no delay if the group's last master did
//! not have to wait. How many nodes gather depends on timing. The cohort locks and
//! [`Hmcs`](super::Hmcs), which were published later, keep the lock near for longer.
//!
//! In the literature a node's state is one word, and the group's number in that word shows whether
//! the node has been reused. So there, threads have to stay in their groups. Here two threads watch
//! the last node of a splice: the next master, and the thread behind the node in the global queue.
//! Each of them watches a word of its own. The thread that leaves the node second keeps it for
//! reuse. So threads may move, and each word has one waiter, as parking requires.
//!
//! The lock has no try, for the same reason as [`Clh`](super::Clh). Also, a thread that has
//! appended a node to its group's queue can't withdraw the node, since a master may have spliced it
//! in already.
//!
//! Source: Luchangco, Nussbaum and Shavit, "A Hierarchical CLH Queue Lock" (Euro-Par 2006);
//! Herlihy and Shavit, "The Art of Multiprocessor Programming" (2008), section 7.8.2.

use core::array;
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::handle::Handle;
use super::raw::RawLock;
use crate::memory::{Link, Memory, Native, Padded, Word};
use crate::wait::{PARKED, Park, Wait};

/// How long a master waits for others to join its group's queue, in transfers of a cache line.
const GATHERING: u32 = 8;

const WAITING: u32 = 0;
/// The node's thread has released the lock.
const GRANTED: u32 = 2;
/// The node was the last of its group's queue when that queue was spliced.
const SPLICED: u32 = 4;

/// The hierarchical CLH lock, with a queue for each of `GROUPS` groups of a level.
///
/// If the machine has more groups than `GROUPS`, several groups share a queue.
pub struct Hclh<W: Wait = Park, M: Memory = Native, const GROUPS: usize = 4, const LEVEL: usize = 0>
{
    /// The tail of the global queue. The thread of this node may have released the lock.
    global: Padded<M::Link<QueueNode<M>>>,
    groups: [Padded<Group<M>>; GROUPS],
    wait: PhantomData<W>,
}

/// A group of near processors.
#[derive(Debug, Default)]
struct Group<M: Memory> {
    /// The last queue node of the group's queue. It stays here when the queue is spliced.
    tail: M::Link<QueueNode<M>>,
    /// Whether the group's last master had to wait for the lock.
    crowded: M::Word,
}

/// A thread's queue node, first in its group's queue and then in the global one.
#[derive(Debug, Default)]
pub struct QueueNode<M: Memory> {
    /// Watched by the thread behind in the group's queue. Becomes `SPLICED`, or else `GRANTED`.
    local: M::Word,
    /// Watched by the thread behind in the global queue, if `local` is `SPLICED`.
    global: M::Word,
    /// Whether one of the two watchers of a `SPLICED` node has left the node.
    left: M::Word,
}

impl<W: Wait, M: Memory, const GROUPS: usize, const LEVEL: usize> Hclh<W, M, GROUPS, LEVEL> {
    /// Moves the group's queue to the end of the global queue. Returns the node that was the last
    /// of the global queue before, or `None` if there was none. This thread is the first of the
    /// group's queue.
    fn splice(&self, group: &Group<M>) -> Option<M::Ref<QueueNode<M>>> {
        // Relaxed: a hint.
        if group.crowded.load(Relaxed) != 0 {
            M::delay(GATHERING);
        }
        // Acquire: pairs with the Release of the swap in `acquire`.
        let last = group.tail.load(Acquire).expect("our node, or one behind it");
        // AcqRel: the next splice sees all nodes that we splice initialised, and we see `previous`
        // initialised.
        let previous = self.global.swap(Some(last), AcqRel);
        // The thread of `last` waits behind us, or is this thread. After the hand-over the next
        // master may splice.
        // SAFETY: the queue node is behind ours, or is ours. So its thread does not have the lock
        // yet, and the node stays.
        W::hand_over::<M>(&unsafe { M::follow::<QueueNode<M>>(last) }.local, SPLICED);
        previous
    }

    /// Leaves a queue node that was `SPLICED`. If the other thread behind the node has left it too,
    /// keeps the node in the handle `node`, for reuse.
    ///
    /// # Safety
    ///
    /// The caller was behind the queue node, in one of the two queues.
    unsafe fn leave(node: &Handle<QueueNode<M>, M>, queue_node: M::Ref<QueueNode<M>>) {
        // SAFETY: the queue node stays until both threads behind it have left it.
        let left = unsafe { &M::follow::<QueueNode<M>>(queue_node).left };
        // AcqRel: pairs with itself, so the first thread's use of the node is over before the
        // second one reuses the node.
        if left.load(Acquire) != 0 || left.swap(1, AcqRel) != 0 {
            // SAFETY: it was released, since one of the two waited for that, and no thread is
            // behind it any more.
            unsafe { node.keep(queue_node) };
        }
    }
}

// SAFETY: each queue node but the first of the global queue has another node before it: the one
// before it in its group's queue, or the last one of the splice before. Each thread waits until the
// node before its own is released. The word for which it waits carries the order of holders. No
// queue node is used again before both threads behind it have left.
unsafe impl<W: Wait, M: Memory, const GROUPS: usize, const LEVEL: usize> RawLock
    for Hclh<W, M, GROUPS, LEVEL>
{
    type Memory = M;
    type Node = Handle<QueueNode<M>, M>;

    #[inline]
    unsafe fn acquire(&self, node: &Self::Node) {
        const { assert!(GROUPS > 0) };
        let group = &*self.groups[M::group(LEVEL) % GROUPS];
        // SAFETY: the handle `node` is our caller's, and the queue node that it hands out is ours
        // until it is swapped in.
        let (mine, queue_node) = unsafe {
            let mine = node.take();
            (mine, M::follow::<QueueNode<M>>(mine))
        };
        // Relaxed: the swap publishes them.
        queue_node.local.store(WAITING, Relaxed);
        queue_node.global.store(WAITING, Relaxed);
        queue_node.left.store(0, Relaxed);
        // AcqRel: publishes our queue node to the threads behind us, and pairs with the swap of the
        // thread before us, which published that thread's node.
        let before = group.tail.swap(Some(mine), AcqRel);
        if let Some(before) = before {
            // SAFETY: it stays until this thread, which is behind it, has left it.
            let state = unsafe { &M::follow::<QueueNode<M>>(before).local };
            W::wait::<M>(state, 0, None, |state| state != WAITING);
            // Relaxed: we have just waited for the state, and it does not change any more.
            if state.load(Relaxed) != SPLICED {
                // SAFETY: released, and no other thread was behind it.
                return unsafe { node.keep(before) };
            }
        }
        let previous = self.splice(group);
        if let Some(before) = before.filter(|_| before != previous) {
            // SAFETY: we were behind it in the group's queue.
            unsafe { Self::leave(node, before) };
        }
        if let Some(previous) = previous {
            // SAFETY: it stays until this thread, which is behind it, has left it.
            let state = unsafe { &M::follow::<QueueNode<M>>(previous).global };
            // Relaxed: a hint, which other threads of the group may write as well.
            group.crowded.store(u32::from(state.load(Relaxed) != GRANTED), Relaxed);
            W::wait::<M>(state, 0, None, |state| state == GRANTED);
            if before == Some(previous) {
                // SAFETY: released, and only we were behind it, in both queues.
                unsafe { node.keep(previous) };
            } else {
                // SAFETY: we were behind it in the global queue.
                unsafe { Self::leave(node, previous) };
            }
        }
    }

    #[inline]
    unsafe fn release(&self, node: &Self::Node) {
        // SAFETY: the node is our caller's, and its queue node stays until it is released.
        let queue_node = unsafe { M::follow::<QueueNode<M>>(node.enqueued()) };
        // Relaxed: whether it was spliced was settled before we got the lock.
        if queue_node.local.load(Relaxed) & !PARKED == SPLICED {
            W::hand_over::<M>(&queue_node.global, GRANTED);
        } else {
            W::hand_over::<M>(&queue_node.local, GRANTED);
        }
    }
}

impl<W: Wait, M: Memory, const GROUPS: usize, const LEVEL: usize> Drop
    for Hclh<W, M, GROUPS, LEVEL>
{
    fn drop(&mut self) {
        // Relaxed: we are the last to use the lock.
        let last = self.global.load(Relaxed);
        let tails = self.groups.iter().map(|group| group.tail.load(Relaxed));
        // If a group's tail isn't the global tail, the thread behind it in the global queue has
        // left it, and no next master has come. So the tail node is still the group's.
        for queue_node in tails.filter(|&tail| tail != last).chain([last]).flatten() {
            // SAFETY: the tails belong to the queues, and no thread uses the lock any more.
            unsafe { M::free(queue_node) };
        }
    }
}

impl<W: Wait, M: Memory, const GROUPS: usize, const LEVEL: usize> Default
    for Hclh<W, M, GROUPS, LEVEL>
{
    fn default() -> Self {
        let groups = array::from_fn(|_| Padded::default());
        Self { global: Padded::default(), groups, wait: PhantomData }
    }
}

impl<W: Wait, M: Memory, const GROUPS: usize, const LEVEL: usize> fmt::Debug
    for Hclh<W, M, GROUPS, LEVEL>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hclh").field("groups", &GROUPS).finish_non_exhaustive()
    }
}

// SAFETY: links and words and nothing else, so it may be zero when they may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>, const GROUPS: usize, const LEVEL: usize> Zeroable
    for Hclh<W, M, GROUPS, LEVEL>
where
    M::Link<QueueNode<M>>: Zeroable,
{
}

impl<W: Wait, M: Memory> Described for Hclh<W, M> {
    const ABOUT: About = About {
        idea: "near waiters queue together, and are spliced into one queue",
        algorithm: Algorithm::Hclh,
        order: Order::FifoInGroup,
        numa: true,
        advice: "very many waiters on several sockets, for one lock",
        source: "Luchangco, Nussbaum and Shavit 2006; SSYNC 4.1",
    };
}
