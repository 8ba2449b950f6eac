//! A rank in a simulation: performs a fabric's operations as requests to the engine.

use std::marker::PhantomData;
use std::time::Duration;

use super::context;
use super::operation::{Kind, Operation};
use crate::fabric::{Change, Dead, Fabric, Position};
use crate::heap::Heap;
use crate::here::Here;

/// A rank in a simulation.
#[derive(Clone, Debug)]
pub struct Simulated {
    rank: usize,
    /// Makes this type not `Send`, so that it stays in the thread of its simulation.
    local: PhantomData<*const ()>,
}

impl Simulated {
    pub(super) fn new(rank: usize) -> Simulated {
        Simulated { rank, local: PhantomData }
    }

    /// Sets the heap for the lock nodes that this rank takes for locks of
    /// [`Window`](crate::Window).
    pub fn enter(&self, nodes: Heap) {
        context::with(|engine| engine.ranks[self.rank].nodes = Some(nodes));
    }

    fn wait_for(&self, kind: Kind, at: Position, length: usize) -> Result<(u64, Vec<u8>), Dead> {
        context::wait(|engine| {
            let operation = Operation::new(self.rank, at, kind, vec![0; length]);
            engine.issue(operation)
        });
        context::with(|engine| engine.ranks[self.rank].take_result())
    }

    fn check(&self, at: Position, length: usize) {
        let (ranks, bytes) = (self.ranks(), self.bytes());
        let fits = at.at <= bytes && length <= bytes - at.at;
        assert!(at.rank < ranks && fits, "{length} bytes at {at:?} are in no rank's part");
    }

    fn check_word(&self, at: Position) {
        assert!(at.at.is_multiple_of(8), "{at:?} is not the position of a word");
        self.check(at, 8);
    }
}

impl Fabric for Simulated {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        context::with(|engine| engine.ranks.len())
    }

    fn bytes(&self) -> usize {
        context::with(|engine| engine.bytes)
    }

    fn put(&self, to: Position, bytes: &[u8]) {
        self.check(to, bytes.len());
        context::wait(|engine| {
            engine.issue(Operation::new(self.rank, to, Kind::Put, bytes.to_vec()))
        });
    }

    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead> {
        self.check(from, into.len());
        let (_, data) = self.wait_for(Kind::Get, from, into.len())?;
        into.copy_from_slice(&data);
        Ok(())
    }

    fn compare_and_swap(&self, at: Position, old: u64, new: u64) -> Result<u64, Dead> {
        self.check_word(at);
        self.wait_for(Kind::Swap { old, new }, at, 0).map(|(was, _)| was)
    }

    fn fetch_and(&self, at: Position, change: Change, operand: u64) -> Result<u64, Dead> {
        self.check_word(at);
        self.wait_for(Kind::Fetch { change, operand }, at, 0).map(|(was, _)| was)
    }

    fn flush(&self, rank: usize) -> Result<(), Dead> {
        self.check(Position { rank, at: 0 }, 0);
        context::wait(|engine| engine.wait_for_puts(self.rank, Some(rank)));
        context::with(|engine| engine.ranks[self.rank].flushed(rank))
    }

    fn flush_all(&self) {
        context::wait(|engine| engine.wait_for_puts(self.rank, None));
    }

    fn pause(&self, at: Position, looks: u32) {
        context::wait(|engine| engine.pause(self.rank, at.rank, looks));
    }

    fn rest(&self, time: Duration) {
        context::wait(|engine| engine.rest(self.rank, time.as_nanos() as u64));
    }

    fn is_alive(&self, rank: usize) -> bool {
        context::with(|engine| !engine.ranks[rank].known_dead)
    }

    fn machine(&self, rank: usize) -> usize {
        context::with(|engine| engine.network.machine(rank))
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(context::with(|engine| engine.now))
    }
}

impl Here for Simulated {
    fn here<R>(then: impl FnOnce(&Simulated) -> R) -> R {
        then(&Simulated::new(context::with(|engine| engine.current)))
    }

    fn nodes(&self) -> Heap {
        let nodes = context::with(|engine| engine.ranks[self.rank].nodes);
        nodes.expect("`Simulated::enter` says where nodes come from")
    }
}
