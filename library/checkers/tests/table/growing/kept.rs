//! Entries in nodes, like those of `Boxed`, but all nodes are kept until the table is dropped. The
//! crate `seize`, which frees them natively, can't be modelled, since its words are not the
//! checker's. So native tests must check that a node lives as long as it is read. The cases here
//! check that a reader follows only nodes that were inserted completely, after they were written,
//! and that each node is retired only once.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use syncline::memory::{Data, Memory, Words};
use syncline::table::{Keep, Storage};

use super::Value;

type Entry = (u64, Value);

/// Keeps the nodes of all entries until the table is dropped.
pub struct Kept<M: Memory>(PhantomData<M>);

struct Node<M: Memory> {
    entry: M::Data<Entry>,
    retired: Cell<bool>,
}

std::thread_local! {
    /// All nodes of the tested table, each with its address. The threads of an execution share one
    /// system thread.
    static NODES: RefCell<Vec<(u64, Box<dyn Any>)>> = const { RefCell::new(Vec::new()) };
}

impl<M: Memory> Default for Kept<M> {
    fn default() -> Self {
        NODES.take();
        Self(PhantomData)
    }
}

impl<M: Memory> Drop for Kept<M> {
    fn drop(&mut self) {
        NODES.take();
    }
}

/// The address of a node.
pub struct Raw<M>(u64, PhantomData<M>);

impl<M> Clone for Raw<M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M> Copy for Raw<M> {}

impl<M: Memory> Raw<M> {
    fn node<'a>(&self) -> &'a Node<M> {
        let made = NODES.with_borrow(|nodes| {
            let node = nodes.iter().find(|node| node.0 == self.0);
            let node = node.and_then(|node| node.1.downcast_ref::<Node<M>>());
            node.map(NonNull::from_ref)
        });
        let made = made.expect("what is followed is a node that was made");
        // SAFETY: nodes stay allocated until the table is dropped.
        unsafe { made.as_ref() }
    }

    fn entry<'a>(&self) -> &'a Entry {
        // SAFETY: the entry was written in `make`, and is never written again, which the checker
        // verifies.
        unsafe { self.node().entry.look(|entry| &*entry) }
    }
}

impl<M: Copy> Words for Raw<M> {
    const WORDS: usize = 1;
    fn put(self, word: &mut impl FnMut(u64)) {
        word(self.0);
    }
    fn of(word: &mut impl FnMut() -> u64) -> Self {
        Self(word(), PhantomData)
    }
}

impl<M: Memory> Storage<u64, Value> for Kept<M> {}

// SAFETY: nodes stay unchanged until the table is dropped.
unsafe impl<M: Memory> Keep<u64, Value> for Kept<M> {
    type Raw = Raw<M>;
    type Pin<'t> = ();
    /// The table has nothing to free at its end.
    const OWNS: bool = false;
    /// The ordering that `Boxed` has.
    const READ: Ordering = Ordering::SeqCst;

    fn pin(&self) {}
    fn make(key: u64, value: Value) -> Raw<M> {
        let node = Node::<M> { entry: M::Data::new((0, [0; 2])), retired: Cell::new(false) };
        let node: Box<Node<M>> = Box::new(node);
        // SAFETY: no other thread knows the node.
        unsafe { node.entry.with(|entry| *entry = (key, value)) };
        let at = std::ptr::from_ref(&*node).addr() as u64;
        NODES.with_borrow_mut(|nodes| nodes.push((at, node)));
        Raw(at, PhantomData)
    }
    unsafe fn key(raw: &Raw<M>) -> &u64 {
        &raw.entry().0
    }
    unsafe fn value(raw: &Raw<M>) -> &Value {
        &raw.entry().1
    }
    unsafe fn retire(&self, raw: Raw<M>) {
        assert!(!raw.node().retired.replace(true), "an entry is retired twice");
    }
    unsafe fn destroy(_: Raw<M>) {}
}
