//! The cases of channels whose ends are tasks, and their runners. The requirements for threads must
//! also be met if one side or both are tasks, whether a task polls only when it is woken or at
//! other times too.

use std::future::{Future, poll_fn};
use std::mem::forget;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::task::{Context, Poll, Wake, Waker};

use syncline::channel::{Inbox, RecvError};
use syncline::memory::{Memory, Word};
use syncline_checkers::Engine;

use crate::cases::{Checked, Kept, Numbered, Receivers, Rx, Tx, pair, play};

/// How an end waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum As {
    /// As a thread that blocks.
    Thread,
    /// As a task, with the channel's futures.
    Task,
    /// As a task that polls with another waker before it polls with its own.
    Restless,
    /// As a task that drops each future after its first poll, and then waits in another way.
    Dropping,
    /// Alternately as a task and as a thread. The task's waker is still registered while the thread
    /// waits.
    Changing,
}

/// The word that the thread of a task sleeps on; 0 until the task is woken.
struct Alarm<M: Memory>(M::Word);

impl<M: Memory> Wake for Alarm<M> {
    fn wake(self: Arc<Self>) {
        // Release: pairs with the Acquire in `Executor::poll`.
        self.0.swap(2, Release);
        M::unpark(self.0.address(), Some(0), 1);
    }
}

/// Runs the tasks of a thread, one after the other.
pub struct Executor<M: Engine>(Arc<Alarm<M>>);

impl<M: Engine> Executor<M> {
    pub fn new() -> Self {
        let alarm = Arc::new(Alarm(M::Word::default()));
        // It is never freed: a checker does not see in which order the owners of an `Arc` drop it.
        forget(Arc::clone(&alarm));
        Self(alarm)
    }

    /// Polls until there is a result. After a poll without one, sleeps until it is woken.
    pub fn poll<R>(&self, mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
        let waker = Waker::from(Arc::clone(&self.0));
        let rung = &self.0.0;
        loop {
            if let Poll::Ready(result) = poll(&mut Context::from_waker(&waker)) {
                return result;
            }
            let mut slept = false;
            // Acquire: pairs with the Release in `wake`.
            while rung.load(Acquire) == 0 {
                M::park(rung, 0, 0, None);
                slept = true;
            }
            rung.swap(0, Acquire);
            if !slept {
                M::yield_now();
            }
        }
    }

    pub fn run<R>(&self, future: impl Future<Output = R>) -> R {
        let mut future = Kept::new(Box::pin(future));
        self.poll(|cx| future.as_mut().poll(cx))
    }

    /// Like [`run`](Self::run), but polls with a waker that wakes nothing before each poll.
    pub fn run_restless<R>(&self, future: impl Future<Output = R>) -> R {
        let mut future = Kept::new(Box::pin(future));
        self.poll(|cx| twice(cx, |cx| future.as_mut().poll(cx)))
    }

    /// Polls a future once, and drops it; `None` if it has no result yet.
    pub fn try_once<R>(&self, future: impl Future<Output = R>) -> Option<R> {
        self.try_then(future, || {})
    }

    /// Like [`try_once`](Self::try_once), but calls `then` before it drops the future.
    pub fn try_then<R>(&self, future: impl Future<Output = R>, then: impl FnOnce()) -> Option<R> {
        let waker = Waker::from(Arc::clone(&self.0));
        let mut future = Kept::new(Box::pin(future));
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        then();
        match polled {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}

/// Polls with a waker that wakes nothing, and then, if there is no result, with the right one.
fn twice<R>(cx: &mut Context<'_>, mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> Poll<R> {
    match poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => poll(cx),
        ready => ready,
    }
}

/// Sends a message with this number, and returns whether it was accepted.
fn send<Q: Checked>(
    way: As,
    executor: &Executor<Q::Memory>,
    sender: &mut Tx<Q>,
    number: u64,
    token: &Arc<()>,
) -> bool {
    let note = Q::Item::new(number, token);
    let sent = match way {
        As::Thread => sender.send(note),
        As::Task => executor.run(sender.send_async(note)),
        As::Restless => {
            let mut note = Some(note);
            executor.poll(|cx| twice(cx, |cx| sender.poll_send(cx, &mut note)))
        }
        As::Dropping => match executor.try_once(sender.send_async(note)) {
            Some(sent) => sent,
            // The message was dropped with the future.
            None if number.is_multiple_of(2) => sender.send(Q::Item::new(number, token)),
            None => executor.run(sender.send_async(Q::Item::new(number, token))),
        },
        As::Changing => {
            let mut note = Some(note);
            if number.is_multiple_of(2) {
                match executor.try_once(poll_fn(|cx| sender.poll_send(cx, &mut note))) {
                    Some(sent) => sent,
                    None => sender.send(note.take().expect("it was not sent")),
                }
            } else {
                executor.poll(|cx| sender.poll_send(cx, &mut note))
            }
        }
    };
    sent.is_ok()
}

fn receive<Q: Checked>(
    way: As,
    executor: &Executor<Q::Memory>,
    receiver: &mut Rx<Q>,
    number: u64,
) -> Result<Q::Item, RecvError> {
    match way {
        As::Thread => receiver.recv(),
        As::Task => executor.run(receiver.recv_async()),
        As::Restless => executor.poll(|cx| twice(cx, |cx| receiver.poll_recv(cx))),
        As::Dropping => match executor.try_once(receiver.recv_async()) {
            Some(received) => received,
            None if number.is_multiple_of(2) => receiver.recv(),
            None => executor.run(receiver.recv_async()),
        },
        As::Changing if number.is_multiple_of(2) => {
            let polled = executor.try_once(poll_fn(|cx| receiver.poll_recv(cx)));
            polled.unwrap_or_else(|| receiver.recv())
        }
        As::Changing => executor.poll(|cx| receiver.poll_recv(cx)),
    }
}

/// All messages arrive in order; then the receiver learns that the sender is gone.
pub fn stream<Q: Checked>(sends: As, receives: As, messages: u64) {
    pair::<Q>(
        1,
        move |mut sender, token| {
            let executor = Executor::new();
            for number in 0..messages {
                assert!(send::<Q>(sends, &executor, &mut sender, number, token));
            }
        },
        move |mut receiver| {
            let executor = Executor::new();
            for number in 0..messages {
                let received = receive::<Q>(receives, &executor, &mut receiver, number);
                assert_eq!(received.map(Numbered::number), Ok(number));
            }
            assert!(receive::<Q>(receives, &executor, &mut receiver, messages).is_err());
        },
    );
}

/// The receiver disconnects after some messages; the sender, a task, gets an error.
pub fn left_by_receiver<Q: Checked>(sends: As, messages: u64) {
    pair::<Q>(
        1,
        move |mut sender, token| {
            let executor = Executor::new();
            let most = (sender.capacity() * 2) as u64 + messages + 3;
            let sent =
                (0..=most).take_while(|&n| send::<Q>(sends, &executor, &mut sender, n, token));
            assert!(sent.count() as u64 <= most, "nobody takes as many");
        },
        move |mut receiver| {
            for number in 0..messages {
                assert_eq!(receiver.recv().map(Numbered::number), Ok(number));
            }
        },
    );
}

enum Part<Q: Checked> {
    Sends(u64, Tx<Q>),
    Collects(Receivers<Q>),
}

/// All messages of several senders arrive at an inbox that is a task; then the inbox reports the
/// end.
pub fn inbox<Q: Checked>(receives: As, senders: u64, messages: u64) {
    let mut inbox = Kept::new(Inbox::<Q::Item, Q>::over(senders as usize, 1));
    let mut connect = || Kept::new(inbox.connect().expect("there is a slot").1);
    let mut parts: Vec<_> = (0..senders).map(|number| Part::Sends(number, connect())).collect();
    parts.insert(0, Part::<Q>::Collects(inbox));
    play::<Q::Memory, _>(parts, Arc::default(), move |_, part, token| match part {
        Part::Sends(number, mut sender) => {
            for message in 0..messages {
                assert!(sender.send(Q::Item::new(number * 100 + message, token)).is_ok());
            }
        }
        Part::Collects(mut inbox) => {
            let executor = Executor::<Q::Memory>::new();
            let mut next = vec![0; senders as usize];
            loop {
                let received = match receives {
                    As::Thread => inbox.recv(),
                    As::Task => executor.run(inbox.recv_async()),
                    As::Restless => executor.poll(|cx| twice(cx, |cx| inbox.poll_recv(cx))),
                    As::Dropping => match executor.try_once(inbox.recv_async()) {
                        Some(received) => received,
                        None => inbox.recv(),
                    },
                    As::Changing => executor
                        .try_once(poll_fn(|cx| inbox.poll_recv(cx)))
                        .unwrap_or_else(|| inbox.recv()),
                };
                let Ok((slot, note)) = received else { break };
                assert_eq!(note.number(), slot as u64 * 100 + next[slot]);
                next[slot] += 1;
            }
            assert!(next.iter().all(|&next| next == messages), "some are missing");
        }
    });
}

macro_rules! loom {
    ($name:ident: $Channel:ident) => {
        mod $name {
            use super::As::*;

            type Channel = syncline::channel::$Channel<
                crate::cases::Small,
                syncline::wait::Park,
                syncline_checkers::Loom,
            >;
            loom! { @
                tasks: 3, stream(Task, Task, 3);
                a_task_sends_to_a_thread: 3, stream(Task, Thread, 4);
                a_thread_sends_to_a_task: 3, stream(Thread, Task, 4);
                a_restless_task_sends: 3, stream(Restless, Thread, 4);
                a_restless_task_receives: 3, stream(Thread, Restless, 4);
                restless_tasks: 2, stream(Restless, Restless, 3);
                dropped_futures_of_a_sender: 3, stream(Dropping, Thread, 4);
                dropped_futures_of_a_receiver: 3, stream(Thread, Dropping, 3);
                dropped_futures: 2, stream(Dropping, Dropping, 3);
                a_sender_that_changes: 3, stream(Changing, Thread, 5);
                a_receiver_that_changes: 3, stream(Thread, Changing, 3);
                left_by_receiver: 3, left_by_receiver(Task, 0);
                left_by_receiver_later: 3, left_by_receiver(Restless, 1);
                an_inbox_of_one: 3, inbox(Task, 1, 3);
                an_inbox_of_two: 2, inbox(Task, 2, 1);
                a_restless_inbox_of_two: 2, inbox(Restless, 2, 2);
                dropped_futures_of_an_inbox: 2, inbox(Dropping, 2, 1);
            }
        }
    };
    (@ $($name:ident: $preemptions:literal, $case:ident($($argument:expr),*);)*) => {
        $(#[test]
        fn $name() {
            let case = || crate::tasks::$case::<Channel>($($argument),*);
            syncline_checkers::Executions(6_000).explore($preemptions, case);
        })*
    };
}

macro_rules! shuttle {
    ($name:ident: $Channel:ident) => {
        mod $name {
            use super::As::*;

            type Channel = syncline::channel::$Channel<
                crate::cases::Small,
                syncline::wait::Park,
                syncline_checkers::Shuttle,
            >;
            #[test]
            fn streams() {
                let ways = [Thread, Task, Restless, Dropping, Changing];
                for (sends, receives) in ways.iter().flat_map(|&one| ways.map(|two| (one, two))) {
                    let case = move || super::stream::<Channel>(sends, receives, 12);
                    syncline_checkers::randomly(100, case);
                }
            }
            #[test]
            fn left_by_receiver() {
                for way in [Task, Restless, Dropping, Changing] {
                    let case = move || super::left_by_receiver::<Channel>(way, 3);
                    syncline_checkers::randomly(100, case);
                }
            }
            #[test]
            fn inboxes() {
                for way in [Task, Restless, Dropping, Changing] {
                    syncline_checkers::randomly(100, move || super::inbox::<Channel>(way, 3, 4));
                }
            }
        }
    };
}

loom! { rings_under_loom: Ring }
loom! { singles_under_loom: Single }
shuttle! { rings_under_shuttle: Ring }
shuttle! { singles_under_shuttle: Single }
