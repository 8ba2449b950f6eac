//! Each channel on the machine itself, under each waiting policy. The tests also have ends that are
//! dropped, messages and iterators that panic, and receivers that give up. These tests need nothing
//! but `syncline`, so that they can be built for a sanitizer too.

mod limit;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use syncline::channel::{
    self, Disconnected, Duplex, Inbox, NoSlot, RawChannel, Receiver, RecvError, RecvTimeoutError,
    Ring, SendError, Sender, Single, TryRecvError, TrySendError,
};
use syncline::wait::{Park, Spin, Yield};

/// The limit on a test's time. A test that takes longer counts as hung.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a case runs. It also sends at most `MESSAGES` messages: if other programs use the
/// processors, a thread that spins may wait a time slice for each message.
const SHORT: Duration = Duration::from_millis(50);
const MESSAGES: u64 = 3000;

// Threads are joined one by one: a sanitizer doesn't see the order that a scope's end makes.

/// Runs a test in a thread of its own, with a limit on its time.
fn within_limit(test: impl FnOnce() + Send + 'static) {
    limit::within(LIMIT, test);
}

/// Numbers from 0 on, for as long as a case runs.
fn rounds() -> impl Iterator<Item = u64> {
    let start = Instant::now();
    (0..MESSAGES).take_while(move |_| start.elapsed() < SHORT)
}

/// Sleeps a little, so that other threads begin to wait.
fn linger() {
    thread::sleep(Duration::from_millis(20));
}

/// Panics, without the panic hook's message.
fn fail() -> ! {
    resume_unwind(Box::new("on purpose"))
}

/// Messages of a type arrive once, in order and unchanged.
fn in_order<Q: RawChannel>(
    capacity: usize,
    make: impl Fn(u64) -> Q::Item + Sync,
    check: impl Fn(Q::Item, u64),
) {
    let (mut sender, mut receiver) = channel::over::<Q>(capacity);
    thread::scope(|scope| {
        let sending = scope.spawn({
            let make = &make;
            move || {
                rounds().inspect(|&number| send(&mut sender, number, make(number))).count() as u64
            }
        });
        let mut received = 0;
        while let Some(message) = receive(&mut receiver, received) {
            check(message, received);
            received += 1;
        }
        assert_eq!(received, sending.join().expect("it ends"));
    });
}

/// Sends a message, in one of three ways.
fn send<T: Send, Q: RawChannel<Item = T>>(sender: &mut Sender<T, Q>, number: u64, message: T) {
    match number % 3 {
        0 => sender.send(message).expect("the receiver is there"),
        1 => sender.send_all([message]).expect("the receiver is there"),
        _ => {
            let mut message = message;
            while let Err(error) = sender.try_send(message) {
                assert!(matches!(error, TrySendError::Full(_)));
                message = error.into_inner();
                thread::yield_now();
            }
        }
    }
}

/// Receives a message, in one of two ways; `None` if the sender is gone.
fn receive<T: Send, Q: RawChannel<Item = T>>(
    receiver: &mut Receiver<T, Q>,
    number: u64,
) -> Option<T> {
    if !number.is_multiple_of(5) {
        return receiver.recv().ok();
    }
    loop {
        match receiver.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => thread::yield_now(),
        }
    }
}

/// Messages that are sent in batches arrive, whatever the capacity.
fn batches<Q: RawChannel<Item = u64>>(capacity: usize) {
    let (mut sender, mut receiver) = channel::over::<Q>(capacity);
    thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let mut sent = 0;
            for batch in rounds() {
                sender.send_all(sent..sent + batch % 30).expect("the receiver is there");
                sent += batch % 30;
            }
            sent
        });
        let received = receiver.iter().zip(0..).inspect(|(message, n)| assert_eq!(message, n));
        let received = received.count() as u64;
        assert_eq!(received, sending.join().expect("it ends"));
    });
}

/// A thread that waits for the other end wakes up when the other end is dropped.
fn disconnects<Q: RawChannel<Item = u64>>(capacity: usize) {
    // The receiver waits when the sender is dropped.
    let (sender, mut receiver) = channel::over::<Q>(capacity);
    thread::scope(|scope| {
        let leaving = scope.spawn(move || {
            linger();
            drop(sender);
        });
        assert_eq!(receiver.recv(), Err(RecvError));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        leaving.join().expect("it ends");
    });
    // The sender waits at a full channel when the receiver is dropped.
    let (mut sender, receiver) = channel::over::<Q>(capacity);
    thread::scope(|scope| {
        let leaving = scope.spawn(move || {
            linger();
            drop(receiver);
        });
        let mut number = 0;
        while sender.send(number).is_ok() {
            number += 1;
        }
        assert!(number >= capacity as u64, "only {number} messages of {capacity}");
        assert!(sender.is_disconnected());
        assert_eq!(sender.send(7), Err(SendError(7)));
        assert_eq!(sender.try_send(8), Err(TrySendError::Disconnected(8)));
        let mut rest = 0..10;
        assert_eq!(sender.send_all(&mut rest), Err(SendError(0)));
        assert_eq!(rest, 1..10);
        leaving.join().expect("it ends");
    });
    // Messages that were sent before the sender was dropped arrive.
    let (mut sender, mut receiver) = channel::over::<Q>(capacity);
    let sent = (0..).take_while(|&number| sender.try_send(number).is_ok()).count() as u64;
    assert!(sent >= capacity as u64);
    drop(sender);
    assert!(receiver.iter().eq(0..sent));
}

/// Both ends are dropped at various moments; nothing hangs, and each message is dropped once.
fn leaks_nothing<Q: RawChannel<Item = Arc<()>> + 'static>(capacity: usize) {
    let token = Arc::new(());
    for round in rounds().take(300) {
        let (mut sender, mut receiver) = channel::over::<Q>(capacity);
        let mine = Arc::clone(&token);
        let sending = thread::spawn(move || {
            for _ in 0..round % 23 {
                if sender.send(Arc::clone(&mine)).is_err() {
                    return;
                }
            }
        });
        for _ in 0..round % 17 {
            if receiver.recv().is_err() {
                break;
            }
        }
        drop(receiver);
        sending.join().expect("it ends");
        assert_eq!(Arc::strong_count(&token), 1, "round {round}");
    }
}

/// A message's destructor that panics breaks neither the channel nor the other end.
fn survives_panics<Q: RawChannel<Item = Grenade>>(capacity: usize) {
    let token = Arc::new(());
    let (mut sender, receiver) = channel::over::<Q>(capacity);
    let send = |sender: &mut Sender<_, Q>| sender.try_send(Grenade(Some(Arc::clone(&token))));
    let mut sent = 0;
    loop {
        match send(&mut sender) {
            Ok(()) => sent += 1,
            Err(error) => break drop(error.into_inner().0.take()),
        }
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(receiver))).is_err());
    assert!(sender.is_disconnected());
    // The remaining messages are dropped with the sender, until one of them panics.
    assert_eq!(Arc::strong_count(&token), sent);
    let outcome = catch_unwind(AssertUnwindSafe(|| drop(sender)));
    assert_eq!(outcome.is_err(), sent > 1);
}

struct Grenade(Option<Arc<()>>);

impl Drop for Grenade {
    fn drop(&mut self) {
        // A message that the sender got back was emptied, and does not panic.
        if self.0.take().is_some() {
            fail();
        }
    }
}

/// Messages that an iterator has yielded before it panics are sent.
fn survives_iterators<Q: RawChannel<Item = u64>>() {
    let (mut sender, mut receiver) = channel::over::<Q>(3);
    let numbers = (0..3).inspect(|&number| {
        if number == 1 {
            fail()
        }
    });
    assert!(catch_unwind(AssertUnwindSafe(|| sender.send_all(numbers))).is_err());
    assert_eq!(receiver.recv(), Ok(0));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    sender.send(5).expect("the receiver is there");
    assert_eq!(receiver.recv(), Ok(5));
}

/// Each answer reaches the thread that has asked.
fn round_trips<A: RawChannel<Item = u64>, B: RawChannel<Item = String>>() {
    let (mut client, mut server) = Duplex::<u64, String, A, B>::over(1);
    thread::scope(|scope| {
        let serving = scope.spawn(move || {
            while let Ok(number) = server.receiver.recv() {
                if number == u64::MAX {
                    return;
                }
                server.sender.send(format!("{number}")).expect("the client waits");
            }
        });
        for number in rounds() {
            assert_eq!(client.round_trip(number), Ok(format!("{number}")));
        }
        assert_eq!(client.round_trip(u64::MAX), Err(Disconnected));
        assert_eq!(client.round_trip(0), Err(Disconnected));
        serving.join().expect("it ends");
    });
}

/// All messages of several senders arrive, each sender's in order.
fn inboxes<Q: RawChannel<Item = (usize, u64)>>(senders: usize, capacity: usize) {
    let mut inbox = Inbox::<(usize, u64), Q>::over(senders, capacity);
    assert_eq!(inbox.recv(), Err(RecvError), "nobody is connected");
    thread::scope(|scope| {
        let connect = |sender| {
            let (slot, mut channel) = inbox.connect().expect("there is a slot");
            assert_eq!(slot, sender);
            scope.spawn(move || {
                let send = |&number: &u64| {
                    channel.send((sender, number)).expect("the inbox is there");
                    if number % 100 == sender as u64 {
                        thread::sleep(Duration::from_micros(100));
                    }
                };
                rounds().inspect(send).count() as u64
            })
        };
        let sending: Vec<_> = (0..senders).map(connect).collect();
        assert_eq!(inbox.connect().err(), Some(NoSlot(senders)));
        let mut next = vec![0; senders];
        while let Ok((slot, (sender, number))) = inbox.recv() {
            assert_eq!((slot, number), (sender, next[sender]));
            next[sender] += 1;
        }
        let sent: Vec<_> = sending.into_iter().map(|s| s.join().expect("it ends")).collect();
        assert_eq!(next, sent);
        assert_eq!(inbox.try_recv(), Err(TryRecvError::Disconnected));
    });
    // The slots are free again, and a receiver can wait for chosen slots.
    let (first, mut a) = inbox.connect().expect("there is a slot");
    a.send((0, 1)).expect("the inbox is there");
    if senders > 1 {
        let (second, mut b) = inbox.connect().expect("there is a slot");
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                linger();
                b.send((1, 2)).expect("the inbox is there");
            });
            assert_eq!(inbox.recv_from(&[second]), Ok((second, (1, 2))));
            sending.join().expect("it ends");
        });
        drop(b);
        assert_eq!(inbox.recv_from(&[second]), Err(RecvError));
    }
    assert_eq!(inbox.try_recv(), Ok((first, (0, 1))));
    assert_eq!(inbox.try_recv(), Err(TryRecvError::Empty));
    thread::scope(|scope| {
        let leaving = scope.spawn(move || {
            linger();
            drop(a);
        });
        assert_eq!(inbox.recv(), Err(RecvError));
        leaving.join().expect("it ends");
    });
    let (_, mut late) = inbox.connect().expect("there is a slot");
    drop(inbox);
    assert_eq!(late.send((0, 0)), Err(SendError((0, 0))));
}

/// A type that is larger than a line. Its size is not a multiple of a word's size.
type Long = [u32; 77];

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(128))]
struct Aligned(u64);

macro_rules! stress {
    ($name:ident, $Channel:ident, $Wait:ident) => {
        #[test]
        fn $name() {
            type Of<T> = $Channel<T, $Wait>;
            within_limit(|| {
                for capacity in [1, 2, 7, 100] {
                    in_order::<Of<u64>>(capacity, |n| n, |m, n| assert_eq!(m, n));
                    batches::<Of<u64>>(capacity);
                }
                in_order::<Of<u8>>(9, |n| n as u8, |m, n| assert_eq!(m, n as u8));
                in_order::<Of<[u64; 3]>>(4, |n| [n; 3], |m, n| assert_eq!(m, [n; 3]));
                in_order::<Of<[u64; 7]>>(4, |n| [n; 7], |m, n| assert_eq!(m, [n; 7]));
                in_order::<Of<Long>>(4, |n| [n as u32; 77], |m, n| assert_eq!(m, [n as u32; 77]));
                in_order::<Of<Aligned>>(4, Aligned, |m, n| assert_eq!(m, Aligned(n)));
                in_order::<Of<()>>(4, |_| (), |(), _| ());
                in_order::<Of<String>>(4, |n| n.to_string(), |m, n| assert_eq!(m, n.to_string()));
                // A `Single` has room for one message, whatever capacity was asked for.
                let room = channel::over::<Of<u64>>(9).0.capacity();
                disconnects::<Of<u64>>(room);
                leaks_nothing::<Of<Arc<()>>>(room);
                leaks_nothing::<Of<Arc<()>>>(1);
                survives_panics::<Of<Grenade>>(2);
                survives_iterators::<Of<u64>>();
                round_trips::<Of<u64>, Of<String>>();
                inboxes::<Of<(usize, u64)>>(1, 1);
                inboxes::<Of<(usize, u64)>>(2, 3);
                inboxes::<Of<(usize, u64)>>(7, 20);
            });
        }
    };
}

stress!(rings_that_spin, Ring, Spin);
stress!(rings_that_yield, Ring, Yield);
stress!(rings_that_park, Ring, Park);
stress!(singles_that_spin, Single, Spin);
stress!(singles_that_yield, Single, Yield);
stress!(singles_that_park, Single, Park);

#[test]
fn both_ends_may_move_and_be_shared() {
    fn both<T: Send + Sync>() {}
    // A cell is `Send` and not `Sync`; messages need no more than that.
    both::<Sender<std::cell::Cell<u8>>>();
    both::<Receiver<std::cell::Cell<u8>>>();
    both::<Inbox<std::cell::Cell<u8>>>();
}

#[test]
fn there_is_as_much_room_as_asked_for() {
    for capacity in [1, 2, 6, 7, 8, 50, 1000] {
        let (mut sender, mut receiver) = channel::bounded::<u64>(capacity);
        assert!(sender.capacity() >= capacity);
        // After all messages were taken, there is as much room, whatever the positions of the two
        // ends are.
        for taken in 0..3 * capacity {
            let sent = (0..).take_while(|_| sender.try_send(0).is_ok()).count();
            assert!(sent >= capacity, "{sent} of {capacity}, {taken} later");
            while receiver.try_recv().is_ok() {}
            sender.try_send(1).expect("there is room");
            receiver.try_recv().expect("there is a message");
        }
    }
}

#[test]
#[should_panic(expected = "its capacity is 0")]
fn a_channel_without_room_is_refused() {
    drop(channel::bounded::<u8>(0));
}

#[test]
#[should_panic(expected = "its capacity is 0")]
fn an_inbox_without_room_is_refused() {
    drop(Inbox::<u8>::new(1, 0));
}

#[test]
#[should_panic(expected = "needs a slot")]
fn an_inbox_without_slots_is_refused() {
    drop(Inbox::<u8>::new(0, 1));
}

#[test]
#[should_panic(expected = "room for at most")]
fn a_channel_that_could_not_be_counted_is_refused() {
    drop(channel::bounded::<u8>(usize::MAX));
}

#[test]
#[should_panic(expected = "room for at most")]
fn an_inbox_whose_channels_could_not_be_counted_is_refused() {
    drop(Inbox::<u8>::new(1, (1 << 28) + 1));
}

#[test]
fn errors_say_what_happened() {
    assert_eq!(SendError(1).to_string(), "no receiver is left");
    assert_eq!(TrySendError::Full(1).to_string(), "the channel is full");
    assert_eq!(RecvError.to_string(), TryRecvError::Disconnected.to_string());
    assert!(NoSlot(3).to_string().contains("all 3 slots are taken"));
}

fn give_up<Q: RawChannel<Item = u64> + 'static>() {
    const SOON: Duration = Duration::from_millis(5);
    within_limit(|| {
        let (mut sender, mut receiver) = channel::over::<Q>(4);
        let start = Instant::now();
        assert_eq!(receiver.recv_timeout(SOON), Err(RecvTimeoutError::Timeout));
        assert!(start.elapsed() >= SOON);
        sender.send(1).unwrap();
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Ok(1));
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        let late = thread::spawn(move || {
            linger();
            sender.send(2).unwrap();
        });
        assert_eq!(receiver.recv_timeout(Duration::MAX), Ok(2));
        late.join().unwrap();
        assert_eq!(receiver.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));

        let mut inbox = Inbox::<u64, Q>::over(2, 1);
        assert_eq!(inbox.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
        let (_, mut sender) = inbox.connect().unwrap();
        let start = Instant::now();
        assert_eq!(inbox.recv_timeout(SOON), Err(RecvTimeoutError::Timeout));
        assert!(start.elapsed() >= SOON);
        let late = thread::spawn(move || {
            linger();
            sender.send(3).unwrap();
        });
        assert_eq!(inbox.recv_timeout(LIMIT), Ok((0, 3)));
        late.join().unwrap();
        assert_eq!(inbox.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
    });
}

#[test]
fn receivers_give_up_in_time() {
    give_up::<Ring<u64, Park>>();
    give_up::<Ring<u64, Yield>>();
    give_up::<Ring<u64, Spin>>();
    give_up::<Single<u64, Park>>();
    give_up::<Single<u64, Spin>>();
}
