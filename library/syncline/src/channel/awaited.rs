//! A future that waits for an end of a channel, and forgets the task when it is dropped.

use core::pin::Pin;
use core::task::{Context, Poll};

use crate::wait::Wait;

/// Does not compile if the policy does not sleep: ends with such a policy wake no thread and no
/// task.
pub const fn expect_sleepers<W: Wait>() {
    assert!(W::SLEEPS, "tasks need a channel whose waiting policy sleeps, such as `Park`");
}

/// An end of a channel that a future waits for.
pub trait Awaited {
    /// The future's result.
    type Output;

    /// Looks, and arranges for the task to be woken if there is nothing yet.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Self::Output>;

    /// Forgets the task.
    fn withdraw(&mut self);
}

/// A future that leaves no waker behind.
pub struct Waiting<E: Awaited> {
    end: E,
    /// Whether the channel has the future's waker, or had it.
    waits: bool,
}

impl<E: Awaited> Waiting<E> {
    /// A future that has not looked yet.
    pub fn new(end: E) -> Self {
        Self { end, waits: false }
    }
}

/// The future pins nothing, not even its message.
impl<E: Awaited> Unpin for Waiting<E> {}

impl<E: Awaited> Future for Waiting<E> {
    type Output = E::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<E::Output> {
        let polled = self.end.poll(cx);
        self.waits |= polled.is_pending();
        polled
    }
}

impl<E: Awaited> Drop for Waiting<E> {
    fn drop(&mut self) {
        if self.waits {
            self.end.withdraw();
        }
    }
}
