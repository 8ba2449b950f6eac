//! Messages in hardware, as in Tilera's user dynamic network: words that go from one hardware
//! thread to the inbox of another, and not through caches.
//!
//! A message is a stream: its first word arrives while its sender still sends the later words, so a
//! waiting receiver is done soon after the last word was sent. Messages from one sender arrive in
//! order. A thread whose message does not fit into an inbox waits until the inbox has room for the
//! whole message.

use std::collections::VecDeque;

use super::context::{act, fence, with};
use super::{Engine, Then, ThreadId};
use crate::machine::{Machine, Messages};

/// The inboxes of all hardware threads.
#[derive(Default)]
pub struct Inboxes(Vec<Inbox>);

#[derive(Clone, Default)]
struct Inbox {
    /// Messages, ordered by the time at which their first words arrive.
    messages: VecDeque<(u64, Box<[u64]>)>,
    /// The number of words in all messages in the inbox.
    words: usize,
    /// Threads that wait for a message to arrive (`receivers`), and for room in the inbox
    /// (`senders`).
    receivers: VecDeque<ThreadId>,
    senders: VecDeque<ThreadId>,
}

impl Inboxes {
    pub fn of(machine: &Machine) -> Inboxes {
        let count = if machine.description.messages.is_some() { machine.threads() } else { 0 };
        Inboxes(vec![Inbox::default(); count])
    }
}

/// Sends words from the running simulated thread to a hardware thread.
///
/// # Panics
/// Outside of a simulation, if the machine has no messages or no such hardware thread, or if the
/// message is empty or has more words than an inbox has room for.
pub fn send(to: usize, message: &[u64]) {
    fence();
    let mut sent = false;
    while !sent {
        act(|engine| {
            let (then, done) = engine.send(to, message);
            sent = done;
            then
        });
        assert!(with(|_| ()).is_some(), "messages are sent in a simulation");
    }
}

/// Waits for a message to the hardware thread on which the running simulated thread is. Removes it
/// from the inbox, and returns it.
///
/// # Panics
/// Outside of a simulation, or if the machine has no messages.
pub fn receive() -> Box<[u64]> {
    let mut message = None;
    while message.is_none() {
        act(|engine| {
            let (then, received) = engine.receive();
            message = received;
            then
        });
        assert!(with(|_| ()).is_some(), "messages are received in a simulation");
    }
    message.unwrap_or_default()
}

impl Engine<'_> {
    fn messages(&self) -> Messages {
        self.machine.description.messages.expect("the machine has messages in hardware")
    }

    /// Sends a message. The second value says whether the message was sent. If the inbox has no
    /// room, the thread waits for room, and then has to try again.
    fn send(&mut self, to: usize, message: &[u64]) -> (Then, bool) {
        let costs = self.messages();
        assert!((1..=costs.room).contains(&message.len()), "1 to {} words", costs.room);
        assert!(to < self.inboxes.0.len(), "there is no hardware thread {to}");
        self.threads[self.current as usize].looks_at = None;
        let inbox = &mut self.inboxes.0[to];
        if inbox.words + message.len() > costs.room {
            inbox.senders.push_back(self.current);
            return (self.suspend(), false);
        }
        let there = self.machine.node_of(self.machine.cache_of(to));
        let nodes = self.machine.description.distances[self.node()][there];
        let first = self.now + (costs.send + costs.word + costs.hop * nodes).round() as u64;
        let inbox = &mut self.inboxes.0[to];
        inbox.words += message.len();
        let position = inbox.messages.partition_point(|&(arrives, _)| arrives <= first);
        inbox.messages.insert(position, (first, message.into()));
        if let Some(receiver) = inbox.receivers.pop_front() {
            self.plan(first, receiver);
        }
        let busy = costs.send + costs.word * message.len() as f64;
        (self.pass_until(self.now + busy.round() as u64), true)
    }

    /// Removes the first message from the inbox. If none has arrived yet, returns `None`: the
    /// thread waits for one, and then has to try again.
    fn receive(&mut self) -> (Then, Option<Box<[u64]>>) {
        let costs = self.messages();
        let thread = &mut self.threads[self.current as usize];
        thread.looks_at = None;
        let inbox = &mut self.inboxes.0[thread.processor as usize];
        match inbox.messages.front() {
            None => {
                inbox.receivers.push_back(self.current);
                return (self.suspend(), None);
            }
            Some(&(arrives, _)) if arrives > self.now => return (self.pass_until(arrives), None),
            Some(_) => {}
        }
        let Some((_, message)) = inbox.messages.pop_front() else { unreachable!("one is there") };
        inbox.words -= message.len();
        // Wakes all waiting senders, because the one that has waited longest may need more room
        // than there is.
        let senders = std::mem::take(&mut inbox.senders);
        for sender in senders {
            self.plan(self.now, sender);
        }
        let busy = costs.receive + costs.word * message.len() as f64;
        (self.pass_until(self.now + busy.round() as u64), Some(message))
    }
}
