//! Ends of channels that are tasks. Their executor parks its thread, or polls in the call that
//! wakes the task.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use syncline::channel::{
    self, Inbox, RawChannel, Receiver, RecvError, Ring, SendError, Sender, Single, many,
};
use syncline::wait::Park;

use crate::{ROUNDS, SOON, THREADS};

/// Enough messages to go around a ring.
const MESSAGES: u64 = 6 * ROUNDS;

/// Wakes a thread, and counts the wake-ups.
struct Alarm {
    thread: Thread,
    rings: AtomicU64,
}

impl Alarm {
    fn new() -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), rings: AtomicU64::new(0) })
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rings.fetch_add(1, Relaxed);
        self.thread.unpark();
    }
}

/// Runs a task on this thread.
fn block_on<R>(future: impl Future<Output = R>) -> R {
    let mut future = pin!(future);
    let waker = Waker::from(Alarm::new());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        thread::park();
    }
}

/// Polls a future once, with a waker that rings the alarm.
fn poll_once<R>(future: Pin<&mut impl Future<Output = R>>, alarm: &Arc<Alarm>) -> Poll<R> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(alarm))))
}

/// Runs each end as a task (for `true`) or as a thread.
fn stream<Q: RawChannel<Item = Box<u64>>>(sends: bool, receives: bool) {
    let (mut sender, mut receiver) = channel::over::<Q>(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in (0..MESSAGES).map(Box::new) {
                let sent =
                    if sends { block_on(sender.send_async(number)) } else { sender.send(number) };
                sent.expect("the receiver is there");
            }
        });
        let mut receive =
            || if receives { block_on(receiver.recv_async()) } else { receiver.recv() };
        for number in 0..MESSAGES {
            assert_eq!(receive(), Ok(Box::new(number)));
        }
        assert_eq!(receive(), Err(RecvError));
        assert_eq!(receive(), Err(RecvError));
    });
}

fn streams<Q: RawChannel<Item = Box<u64>>>() {
    for (sends, receives) in [(true, true), (true, false), (false, true)] {
        stream::<Q>(sends, receives);
    }
}

/// A task that waits is woken when the other end is dropped.
fn ends<Q: RawChannel<Item = Box<u64>>>() {
    let (sender, mut receiver) = channel::over::<Q>(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(SOON);
            drop(sender);
        });
        assert_eq!(block_on(receiver.recv_async()), Err(RecvError));
    });
    let (mut sender, receiver) = channel::over::<Q>(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(SOON);
            drop(receiver);
        });
        let refused = block_on(async {
            loop {
                if let Err(error) = sender.send_async(Box::new(7)).await {
                    return error;
                }
            }
        });
        assert!(matches!(refused, SendError(message) if *message == 7));
    });
}

/// Futures that are dropped lose no message and leave no waker.
fn dropped<Q: RawChannel<Item = Box<u64>>>() {
    let (mut sender, mut receiver) = channel::over::<Q>(2);
    let alarm = Alarm::new();
    {
        let mut future = pin!(receiver.recv_async());
        assert!(poll_once(future.as_mut(), &alarm).is_pending());
        assert_eq!(Arc::strong_count(&alarm), 2);
    }
    assert_eq!(Arc::strong_count(&alarm), 1);
    sender.send(Box::new(1)).expect("the receiver is there");
    assert_eq!(alarm.rings.load(Relaxed), 0);
    {
        let mut future = pin!(receiver.recv_async());
        assert_eq!(poll_once(future.as_mut(), &alarm), Poll::Ready(Ok(Box::new(1))));
    }
    {
        // The message arrives and the task is woken before the future is dropped.
        let mut future = pin!(receiver.recv_async());
        assert!(poll_once(future.as_mut(), &alarm).is_pending());
        sender.send(Box::new(2)).expect("the receiver is there");
        assert_eq!(alarm.rings.load(Relaxed), 1);
    }
    assert_eq!(receiver.recv(), Ok(Box::new(2)));
    assert_eq!(Arc::strong_count(&alarm), 1);
    let sent = (0..).take_while(|&number| sender.try_send(Box::new(number)).is_ok()).count() as u64;
    {
        let mut future = pin!(sender.send_async(Box::new(100)));
        assert!(poll_once(future.as_mut(), &alarm).is_pending());
    }
    assert_eq!(Arc::strong_count(&alarm), 1);
    let mut message = Some(Box::new(sent));
    {
        let mut future = pin!(poll_fn(|cx| sender.poll_send(cx, &mut message)));
        assert!(poll_once(future.as_mut(), &alarm).is_pending());
    }
    assert_eq!(message, Some(Box::new(sent)));
    thread::scope(|scope| {
        scope.spawn(move || block_on(poll_fn(|cx| sender.poll_send(cx, &mut message))));
        assert!(receiver.iter().map(|number| *number).eq(0..=sent));
    });
    drop(receiver);
    assert_eq!(Arc::strong_count(&alarm), 1);
}

/// The waker of the last poll is woken, and those of earlier polls are dropped.
fn moved<Q: RawChannel<Item = Box<u64>>>() {
    let (mut sender, mut receiver) = channel::over::<Q>(1);
    let (one, other) = (Alarm::new(), Alarm::new());
    for round in 0..ROUNDS {
        let mut future = pin!(receiver.recv_async());
        assert!(poll_once(future.as_mut(), &one).is_pending());
        assert!(poll_once(future.as_mut(), &other).is_pending());
        assert!(poll_once(future.as_mut(), &other).is_pending());
        assert_eq!((Arc::strong_count(&one), Arc::strong_count(&other)), (1, 2));
        sender.send(Box::new(round)).expect("the receiver is there");
        assert_eq!((one.rings.load(Relaxed), other.rings.load(Relaxed)), (0, round + 1));
        assert_eq!(poll_once(future.as_mut(), &one), Poll::Ready(Ok(Box::new(round))));
    }
}

/// A task that waits for two receivers polls each of them when the other has a message.
fn joined<Q: RawChannel<Item = Box<u64>>>() {
    let (mut mine, mut receiver) = channel::over::<Q>(1);
    let (mut theirs, mut other) = channel::over::<Q>(1);
    thread::scope(|scope| {
        scope.spawn(move || (0..MESSAGES).try_for_each(|number| mine.send(Box::new(number))));
        scope.spawn(move || (0..MESSAGES).try_for_each(|number| theirs.send(Box::new(number))));
        let mut open = [true; 2];
        let mut sum = 0;
        block_on(poll_fn(|cx| {
            for (receiver, open) in [&mut receiver, &mut other].into_iter().zip(&mut open) {
                while *open {
                    match receiver.poll_recv(cx) {
                        Poll::Ready(Ok(number)) => sum += *number,
                        Poll::Ready(Err(RecvError)) => *open = false,
                        Poll::Pending => break,
                    }
                }
            }
            if open == [false; 2] { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert_eq!(sum, MESSAGES * (MESSAGES - 1));
    });
}

fn inboxes<Q: RawChannel<Item = Box<u64>>>() {
    let mut inbox = Inbox::<Box<u64>, Q>::over(THREADS as usize, 2);
    thread::scope(|scope| {
        for sender in 0..THREADS {
            let (_, mut channel) = inbox.connect().expect("there is a slot");
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    let sent = channel.send_async(Box::new(sender * MESSAGES + number));
                    block_on(sent).expect("it is there");
                }
            });
        }
        let mut sum = 0;
        while let Ok((_, number)) = block_on(inbox.recv_async()) {
            sum += *number;
        }
        let all = THREADS * MESSAGES;
        assert_eq!(sum, all * (all - 1) / 2);
    });
}

/// A receiver that is polled as soon as it is woken, inside the sender's call.
struct Inline<Q: RawChannel<Item = Box<u64>>> {
    receiver: Mutex<Receiver<Box<u64>, Q>>,
    received: AtomicU64,
}

impl<Q: RawChannel<Item = Box<u64>, Reader: Send> + 'static> Wake for Inline<Q> {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut receiver = self.receiver.lock().expect("no poll has panicked");
        while receiver.poll_recv(&mut Context::from_waker(&waker)).map(|it| it.is_ok())
            == Poll::Ready(true)
        {
            self.received.fetch_add(1, Relaxed);
        }
    }
}

fn inline<Q: RawChannel<Item = Box<u64>, Reader: Send> + 'static>() {
    let (mut sender, receiver) = channel::over::<Q>(1);
    let task = Arc::new(Inline { receiver: Mutex::new(receiver), received: AtomicU64::new(0) });
    Arc::clone(&task).wake();
    for number in 0..MESSAGES {
        assert_eq!(task.received.load(Relaxed), number);
        sender.try_send(Box::new(number)).expect("the receiver has taken what was there");
    }
    // The channel and the task own each other until the task learns that the sender is gone.
    assert_eq!(Arc::strong_count(&task), 2);
    drop(sender);
    assert_eq!(Arc::strong_count(&task), 1);
    assert_eq!(task.received.load(Relaxed), MESSAGES);
}

/// Tasks and threads at both sides of a channel with many senders and receivers.
#[test]
fn many_of_them() {
    let (sender, receiver) = many::bounded(1);
    let sum = AtomicU64::new(0);
    thread::scope(|scope| {
        for task in [true, false] {
            let sender = sender.clone();
            let receiver = receiver.clone();
            let sum = &sum;
            scope.spawn(move || {
                for number in (0..MESSAGES).map(Box::new) {
                    let sent = if task {
                        block_on(sender.send_async(number))
                    } else {
                        sender.send(number)
                    };
                    sent.expect("the receivers are there");
                }
            });
            scope.spawn(move || {
                let receive =
                    || if task { block_on(receiver.recv_async()) } else { receiver.recv() };
                while let Ok(number) = receive() {
                    sum.fetch_add(*number, Relaxed);
                }
            });
        }
        drop((sender, receiver));
    });
    assert_eq!(sum.into_inner(), MESSAGES * (MESSAGES - 1));
}

/// A future that was woken and is then dropped passes the wake-up on. If it was not woken, no other
/// future is woken.
#[test]
fn passed_on() {
    let (sender, receiver) = many::bounded(1);
    let [first, second, third] = [Alarm::new(), Alarm::new(), Alarm::new()];
    let rings = || {
        [&first, &second, &third].map(|alarm| (alarm.rings.load(Relaxed), Arc::strong_count(alarm)))
    };
    {
        let mut one = Box::pin(receiver.recv_async());
        let mut two = Box::pin(receiver.recv_async());
        let mut three = Box::pin(receiver.recv_async());
        assert!(poll_once(one.as_mut(), &first).is_pending());
        assert!(poll_once(two.as_mut(), &second).is_pending());
        assert!(poll_once(three.as_mut(), &third).is_pending());
        assert!(poll_once(three.as_mut(), &third).is_pending());
        assert_eq!(rings(), [(0, 2), (0, 2), (0, 2)]);
        drop(two);
        assert_eq!(rings(), [(0, 2), (0, 1), (0, 2)]);
        sender.send(Box::new(1)).expect("the receiver is there");
        assert_eq!(rings(), [(1, 1), (0, 1), (0, 2)]);
        drop(one);
        assert_eq!(rings(), [(1, 1), (0, 1), (1, 1)]);
        assert_eq!(poll_once(three.as_mut(), &third), Poll::Ready(Ok(Box::new(1))));
    }
    {
        // A future that was woken and finds no message waits again.
        let mut one = Box::pin(receiver.recv_async());
        assert!(poll_once(one.as_mut(), &first).is_pending());
        sender.send(Box::new(2)).expect("the receiver is there");
        assert_eq!(receiver.recv(), Ok(Box::new(2)));
        assert!(poll_once(one.as_mut(), &second).is_pending());
        assert_eq!(rings(), [(2, 1), (0, 2), (1, 1)]);
        sender.send(Box::new(3)).expect("the receiver is there");
        assert_eq!(poll_once(one.as_mut(), &second), Poll::Ready(Ok(Box::new(3))));
    }
    {
        // The same rules hold for senders that wait for room.
        sender.send(Box::new(4)).expect("the receiver is there");
        let mut one = Box::pin(sender.send_async(Box::new(5)));
        let mut two = Box::pin(sender.send_async(Box::new(6)));
        assert!(poll_once(one.as_mut(), &first).is_pending());
        assert!(poll_once(two.as_mut(), &third).is_pending());
        assert_eq!(receiver.recv(), Ok(Box::new(4)));
        drop(one);
        assert_eq!(rings(), [(3, 1), (1, 1), (2, 1)]);
        assert_eq!(poll_once(two.as_mut(), &third), Poll::Ready(Ok(())));
    }
    assert_eq!(receiver.recv(), Ok(Box::new(6)));
    drop(sender);
    assert_eq!(block_on(receiver.recv_async()), Err(RecvError));
    // The last receiver is dropped while a sender waits.
    let (sender, receiver) = many::bounded(1);
    sender.send(Box::new(1)).expect("the receiver is there");
    let mut one = Box::pin(sender.send_async(Box::new(2)));
    assert!(poll_once(one.as_mut(), &first).is_pending());
    drop(receiver);
    assert_eq!(rings()[0], (4, 1));
    assert_eq!(poll_once(one.as_mut(), &first), Poll::Ready(Err(SendError(Box::new(2)))));
}

/// Futures may be sent to other threads if messages may.
fn go_anywhere(sender: &mut Sender<Box<u64>>, receiver: &mut Receiver<Box<u64>>) {
    fn goes<T: Send + Unpin>(_: T) {}
    goes(sender.send_async(Box::new(1)));
    goes(receiver.recv_async());
    let (sender, receiver) = many::bounded(1);
    goes(sender.send_async(Box::new(1)));
    goes(receiver.recv_async());
}

#[test]
fn futures_go_anywhere() {
    let (mut sender, mut receiver) = channel::bounded(1);
    go_anywhere(&mut sender, &mut receiver);
}

macro_rules! channels {
    ($($name:ident: $Channel:ty,)*) => { $(
        mod $name {
            channels! { @ $Channel: streams, ends, dropped, moved, joined, inboxes, inline, }
        }
    )* };
    (@ $Channel:ty: $($case:ident,)*) => { $(
        #[test]
        fn $case() {
            super::$case::<$Channel>();
        }
    )* };
}

channels! {
    rings: super::Ring<Box<u64>, super::Park>,
    singles: super::Single<Box<u64>, super::Park>,
}
