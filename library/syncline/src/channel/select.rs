//! Waiting until one of several receivers has a message.
//!
//! The thread checks the receivers one after the other; each check hits the thread's own cache. If
//! it has to sleep, it sleeps on its *selector*, a word that is used for this sleep only. Before
//! that, it leaves a note on each receiver's bell (`bell.rs`); the note refers to the selector. A
//! thread that rings a bell takes the note from the bell, counts itself in the selector, and wakes
//! the sleeper. It does not use the selector after it has counted itself. Once awake, the sleeper
//! takes its notes back from the bells that were not rung. Each of the other notes was taken by a
//! thread that knows the selector. The sleeper waits until all these threads have counted
//! themselves; then no thread uses the selector any more.
//!
//! No wake-up is lost, for the reason that is given in `news`: one heavy barrier lies between the
//! notes on all bells and the last looks at all receivers.

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use super::news::{select, selected};
use super::patience::Patience;
use super::raw::Look;
use super::selectable::Selectable;
use super::selector::Selector;
use crate::memory::{Memory, Native, Own};
use crate::wait::{Park, Wait};

/// Waits for one of several receivers. The receivers are checked in rotation: the one that was
/// chosen last is checked last.
///
/// ```
/// use syncline::channel::{self, Select};
///
/// let (mut orders, mut next_order) = channel::bounded::<u32>(8);
/// let (mut notes, mut next_note) = channel::bounded::<&str>(8);
/// orders.send(7).unwrap();
/// notes.send("closing").unwrap();
/// drop(orders);
///
/// let mut select = Select::new();
/// let mut seen = Vec::new();
/// loop {
///     match select.ready(&mut [&mut next_order, &mut next_note]) {
///         0 => match next_order.try_recv() {
///             Ok(order) => seen.push(order.to_string()),
///             Err(_) => break, // There are no more orders.
///         },
///         _ => seen.push(next_note.recv().unwrap().to_string()),
///     }
/// }
/// assert_eq!(seen, ["7", "closing"]);
/// ```
///
/// A receiver whose senders are gone is ready as well, so that its `recv` can report that. It stays
/// ready, so leave it out of later calls. Receivers have one owner, so a receiver that is ready
/// stays ready until its message is taken.
pub struct Select<W: Wait = Park, M: Memory = Native> {
    /// The index of the receiver to look at first.
    next: usize,
    patience: Patience,
    kind: PhantomData<fn() -> (W, M)>,
}

type Receivers<'a, 'b, W, M> = &'a mut [&'b mut dyn Selectable<W, M>];

impl Select {
    /// A `Select` over receivers that park, as those of [`bounded`](super::bounded) do.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<W: Wait, M: Memory> Select<W, M> {
    /// Waits until one of these receivers has a message or its senders are gone, and returns its
    /// index among them. Its `recv` then returns at once.
    ///
    /// # Panics
    ///
    /// If there are no receivers.
    pub fn ready(&mut self, receivers: Receivers<'_, '_, W, M>) -> usize {
        loop {
            if let Some(place) = self.wait(receivers, None) {
                return place;
            }
        }
    }

    /// Like [`ready`](Self::ready), but returns `None` if no receiver is ready in time. Without a
    /// clock (without `std` on systems other than Linux) a timeout above zero never passes.
    ///
    /// # Panics
    ///
    /// If there are no receivers.
    pub fn ready_timeout(
        &mut self,
        receivers: Receivers<'_, '_, W, M>,
        timeout: Duration,
    ) -> Option<usize> {
        self.ready_until(receivers, M::now().saturating_add(timeout))
    }

    /// Waits until a receiver is ready, or until a moment on the memory's clock.
    #[doc(hidden)]
    pub fn ready_until(
        &mut self,
        receivers: Receivers<'_, '_, W, M>,
        deadline: Duration,
    ) -> Option<usize> {
        self.wait(receivers, Some(deadline))
    }

    /// The index of a receiver that is ready now, if there is one.
    pub fn try_ready(&mut self, receivers: Receivers<'_, '_, W, M>) -> Option<usize> {
        let count = receivers.len();
        let first = if self.next < count { self.next } else { 0 };
        let place =
            (first..count).chain(0..first).find(|&at| receivers[at].look() != Look::NotYet)?;
        self.next = place + 1;
        Some(place)
    }

    fn wait(
        &mut self,
        receivers: Receivers<'_, '_, W, M>,
        deadline: Option<Duration>,
    ) -> Option<usize> {
        assert!(!receivers.is_empty(), "there are no receivers: none would ever be ready");
        let mut patience = self.patience;
        let found = loop {
            let watched = patience.watch::<W, M, _>(deadline, || self.try_ready(receivers));
            let found = match watched {
                None if W::SLEEPS => self.sleep(receivers, deadline),
                watched => watched,
            };
            if found.is_some() || deadline.is_some_and(|deadline| M::now() >= deadline) {
                break found;
            }
        };
        self.patience = patience;
        found
    }

    /// Sleeps until a message is sent to one of the receivers, a sender is dropped, or the deadline
    /// has passed. Does not sleep if a receiver is ready already.
    #[cold]
    fn sleep(
        &mut self,
        receivers: Receivers<'_, '_, W, M>,
        deadline: Option<Duration>,
    ) -> Option<usize> {
        let selector = Own::<Selector<M>, M>::default();
        receivers.iter().for_each(|receiver| select(receiver.bell(), &selector));
        M::heavy_barrier();
        let found = self.try_ready(receivers);
        if found.is_none() {
            M::park(&selector.rung, 0, 0, deadline);
        }
        let taken = receivers.iter().filter(|receiver| selected(receiver.bell())).count();
        selector.wait_for(taken as u32);
        found
    }
}

impl<W: Wait, M: Memory> Default for Select<W, M> {
    fn default() -> Self {
        Self { next: 0, patience: Patience::default(), kind: PhantomData }
    }
}

impl<W: Wait, M: Memory> fmt::Debug for Select<W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").finish_non_exhaustive()
    }
}
