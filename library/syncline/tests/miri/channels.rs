//! Every kind of channel except those with many senders. The messages are small, own memory, or are
//! larger than a line.

use std::fmt::Debug;
use std::thread;

use syncline::channel::{
    self, Disconnected, Duplex, Inbox, RawChannel, RecvError, RecvTimeoutError, Ring, SendError,
    Single, TryRecvError, TrySendError,
};
use syncline::wait::{Park, Spin, Yield};

use crate::{AT_ONCE, ROUNDS, SOON, THREADS, fail, fails};

/// Enough messages to go around a ring.
const MESSAGES: u64 = 3 * ROUNDS;
/// A type that is larger than a line. Its size is not a multiple of a word's size.
type Large = [u32; 33];

/// A message that is made from a number.
trait Numbered: Send + Debug + PartialEq {
    fn of(number: u64) -> Self;
}

impl Numbered for u64 {
    fn of(number: u64) -> Self {
        number
    }
}

impl Numbered for Box<u64> {
    fn of(number: u64) -> Self {
        Box::new(number)
    }
}

impl Numbered for Large {
    fn of(number: u64) -> Self {
        [number as u32; 33]
    }
}

fn stream<Q: RawChannel<Item: Numbered>>() {
    let (mut sender, mut receiver) = channel::over::<Q>(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in (0..MESSAGES).map(|number| 3 * number) {
                sender.send(Q::Item::of(number)).expect("the receiver is there");
                let mut message = Q::Item::of(number + 1);
                while let Err(error) = sender.try_send(message) {
                    assert!(matches!(error, TrySendError::Full(_)));
                    message = error.into_inner();
                    thread::yield_now();
                }
                sender.send_all([Q::Item::of(number + 2)]).expect("the receiver is there");
            }
        });
        for number in (0..MESSAGES).map(|number| 3 * number) {
            assert_eq!(receiver.recv(), Ok(Q::Item::of(number)));
            assert_eq!(receiver.recv_timeout(1000 * SOON), Ok(Q::Item::of(number + 1)));
            let message = loop {
                match receiver.try_recv() {
                    Err(TryRecvError::Empty) => thread::yield_now(),
                    message => break message,
                }
            };
            assert_eq!(message, Ok(Q::Item::of(number + 2)));
        }
        assert_eq!(receiver.recv(), Err(RecvError));
    });
}

/// A thread that waits for the other end wakes up when the other end is dropped, and no message
/// that was sent is lost or leaks.
fn ends<Q: RawChannel<Item: Numbered>>() {
    let (mut sender, mut receiver) = channel::over::<Q>(2);
    assert_eq!(receiver.recv_timeout(AT_ONCE), Err(RecvTimeoutError::Timeout));
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(SOON);
            sender.send(Q::Item::of(1)).expect("the receiver is there");
        });
        assert_eq!(receiver.recv(), Ok(Q::Item::of(1)));
        assert_eq!(receiver.recv(), Err(RecvError));
    });
    let (mut sender, mut receiver) = channel::over::<Q>(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            assert_eq!(receiver.recv(), Ok(Q::Item::of(0)));
            thread::sleep(SOON);
        });
        let refused = (0..).find_map(|number| sender.send(Q::Item::of(number)).err());
        assert!(matches!(refused, Some(SendError(_))) && sender.is_disconnected());
    });
    // Both ends are dropped at the same time, with messages between them.
    let (mut sender, receiver) = channel::over::<Q>(2);
    thread::scope(|scope| {
        scope.spawn(move || drop(receiver));
        _ = sender.send(Q::Item::of(0));
        drop(sender);
    });
    let (mut sender, mut receiver) = channel::over::<Q>(2);
    let messages = (0..2).map(|number| if number == 1 { fail() } else { Q::Item::of(number) });
    fails(|| sender.send_all(messages));
    assert_eq!(receiver.recv(), Ok(Q::Item::of(0)));
}

fn round_trips<A: RawChannel<Item = Box<u64>>, B: RawChannel<Item = String>>() {
    let (mut client, mut server) = Duplex::<Box<u64>, String, A, B>::over(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..MESSAGES {
                let number = server.receiver.recv().expect("the client is there");
                server.sender.send(number.to_string()).expect("the client waits");
            }
        });
        for number in 0..MESSAGES {
            assert_eq!(client.round_trip(Box::new(number)), Ok(number.to_string()));
        }
        assert_eq!(client.round_trip(Box::new(0)), Err(Disconnected));
    });
}

fn inboxes<Q: RawChannel<Item = Box<u64>>>() {
    let mut inbox = Inbox::<Box<u64>, Q>::over(THREADS as usize, 2);
    thread::scope(|scope| {
        for sender in 0..THREADS {
            let (_, mut channel) = inbox.connect().expect("there is a slot");
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    channel.send(Box::new(sender * MESSAGES + number)).expect("it is there");
                }
            });
        }
        assert!(inbox.connect().is_err());
        let mut sum = 0;
        while let Ok((_, number)) = inbox.recv() {
            sum += *number;
        }
        let all = THREADS * MESSAGES;
        assert_eq!(sum, all * (all - 1) / 2);
    });
    let (slot, mut late) = inbox.connect().expect("the slots are free again");
    assert_eq!(inbox.recv_timeout(AT_ONCE), Err(RecvTimeoutError::Timeout));
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(SOON);
            late.send(Box::new(1)).expect("it is there");
            late.send(Box::new(2)).expect("it is there");
        });
        assert_eq!(inbox.recv_from(&[slot]), Ok((slot, Box::new(1))));
    });
    drop(inbox);
}

macro_rules! channels {
    ($($name:ident $Channel:ident $Wait:ident,)*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn stream() {
                super::stream::<$Channel<u64, $Wait>>();
                super::stream::<$Channel<Box<u64>, $Wait>>();
                super::stream::<$Channel<Large, $Wait>>();
            }

            #[test]
            fn ends() {
                super::ends::<$Channel<u64, $Wait>>();
                super::ends::<$Channel<Box<u64>, $Wait>>();
                super::ends::<$Channel<Large, $Wait>>();
            }

            #[test]
            fn round_trips() {
                super::round_trips::<$Channel<Box<u64>, $Wait>, $Channel<String, $Wait>>();
            }

            #[test]
            fn inboxes() {
                super::inboxes::<$Channel<Box<u64>, $Wait>>();
            }
        }
    )* };
}

channels! {
    rings_that_spin Ring Spin,
    rings_that_yield Ring Yield,
    rings_that_park Ring Park,
    singles_that_spin Single Spin,
    singles_that_yield Single Yield,
    singles_that_park Single Park,
}
