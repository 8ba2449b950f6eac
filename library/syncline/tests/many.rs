//! Channels with many senders and receivers, and waiting for several receivers, on the machine
//! itself. No message is lost or doubled, no thread misses a wake-up, and all ends notice when
//! others are dropped. The senders add up the numbers that they send, and the receivers those that
//! they get.

mod limit;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use syncline::channel::{
    self, Inbox, Ring, Select, Selectable, SendError, TryRecvError, TrySendError, many,
};
use syncline::memory::Native;
use syncline::wait::{Park, Spin, Wait, Yield};

/// The limit on a test's time. A test that takes longer counts as hung.
const LIMIT: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(60);
const MESSAGES: u64 = 20_000;

/// Runs a test in a thread of its own, with a limit on its time.
fn within_limit(test: impl FnOnce() + Send + 'static) {
    limit::within(LIMIT, test);
}

/// Numbers from 0 on, for as long as a case runs.
fn rounds() -> impl Iterator<Item = u64> {
    let start = Instant::now();
    (0..MESSAGES).take_while(move |_| start.elapsed() < SHORT)
}

/// Each message reaches one receiver, once, and each receiver gets a sender's messages in order.
fn spread<W: Wait>(senders: u64, receivers: usize, capacity: usize) {
    let (sender, receiver) = many::over::<(u64, Box<u64>), W, Native>(capacity);
    assert!(sender.capacity() >= capacity);
    let (sent, received) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
    let sending: Vec<_> = (0..senders)
        .map(|name| {
            let (sender, sent) = (sender.clone(), Arc::clone(&sent));
            thread::spawn(move || {
                for number in rounds() {
                    assert!(sender.send((name, Box::new(number))).is_ok());
                    sent.fetch_add(number + 1, Relaxed);
                }
            })
        })
        .collect();
    drop(sender);
    let receiving: Vec<_> = (0..receivers)
        .map(|place| {
            let receiver = receiver.clone();
            thread::spawn(move || {
                let mut next = vec![0; senders as usize];
                let mut sum = 0;
                let mut take = |(name, number): (u64, Box<u64>)| {
                    let next = &mut next[name as usize];
                    assert!(*number >= *next, "out of order");
                    *next = *number + 1;
                    sum += *number + 1;
                };
                // Some receivers first try, or wait for a short time, before they wait without a
                // limit.
                loop {
                    let message = match place % 3 {
                        1 => receiver.try_recv().ok().or_else(|| receiver.recv().ok()),
                        2 => receiver
                            .recv_timeout(Duration::from_micros(50))
                            .ok()
                            .or_else(|| receiver.recv().ok()),
                        _ => receiver.recv().ok(),
                    };
                    match message {
                        Some(message) => take(message),
                        None => return sum,
                    }
                }
            })
        })
        .collect();
    drop(receiver);
    sending.into_iter().for_each(|thread| thread.join().expect("it ends"));
    for thread in receiving {
        received.fetch_add(thread.join().expect("it ends"), Relaxed);
    }
    assert_eq!(received.into_inner(), sent.load(Relaxed));
}

fn all_shapes<W: Wait>() {
    for (senders, receivers, capacity) in [(1, 1, 1), (2, 1, 1), (1, 3, 2), (3, 3, 1), (4, 4, 64)] {
        spread::<W>(senders, receivers, capacity);
    }
}

#[test]
fn many_that_park() {
    within_limit(all_shapes::<Park>);
}

#[test]
fn many_that_yield() {
    within_limit(all_shapes::<Yield>);
}

#[test]
fn many_that_spin() {
    within_limit(|| {
        spread::<Spin>(1, 1, 1);
        spread::<Spin>(2, 1, 8);
    });
}

#[test]
fn whoever_waits_for_room_is_told_that_all_receivers_are_gone() {
    within_limit(|| {
        let token = Arc::new(());
        let (sender, receiver) = many::bounded(1);
        let capacity = sender.capacity();
        (0..capacity).for_each(|_| sender.send(Arc::clone(&token)).unwrap());
        assert!(matches!(sender.try_send(Arc::clone(&token)), Err(TrySendError::Full(_))));
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let (sender, token) = (sender.clone(), Arc::clone(&token));
                thread::spawn(move || matches!(sender.send(token), Err(SendError(_))))
            })
            .collect();
        let other = receiver.clone();
        thread::sleep(Duration::from_millis(20));
        drop(receiver);
        thread::sleep(Duration::from_millis(20));
        drop(other);
        assert!(waiting.into_iter().all(|thread| thread.join().expect("it ends")));
        assert!(matches!(sender.try_send(Arc::clone(&token)), Err(TrySendError::Disconnected(_))));
        drop(sender);
        assert_eq!(Arc::strong_count(&token), 1, "what nobody took was not dropped once");
    });
}

#[test]
fn whoever_waits_for_messages_is_told_that_all_senders_are_gone() {
    within_limit(|| {
        let (sender, receiver) = many::bounded::<u32>(4);
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let receiver = receiver.clone();
                thread::spawn(move || receiver.iter().count())
            })
            .collect();
        thread::sleep(Duration::from_millis(20));
        sender.send(1).unwrap();
        drop(sender.clone());
        drop(sender);
        let counts = waiting.into_iter().map(|thread| thread.join().expect("it ends"));
        assert_eq!(counts.sum::<usize>(), 1);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    });
}

#[test]
#[should_panic(expected = "a channel needs room for a message at least")]
fn a_channel_without_room_is_refused() {
    drop(many::bounded::<u8>(0));
}

#[test]
#[should_panic(expected = "room for at most")]
fn a_channel_that_is_too_large_is_refused() {
    drop(many::bounded::<u8>(usize::MAX));
}

/// One thread waits for several channels of different types, and for an inbox. The senders are
/// dropped at different times.
fn selects<W: Wait>() {
    let (mut numbers, mut next_number) = channel::over::<Ring<u64, W>>(3);
    let (mut names, mut next_name) = channel::over::<Ring<String, W>>(64);
    let mut inbox = Inbox::<u64, Ring<u64, W>>::over(2, 4);
    let callers: Vec<_> = (0..2).map(|_| inbox.connect().unwrap().1).collect();
    let sending = [
        thread::spawn(move || rounds().filter(|&n| numbers.send(n).is_ok()).count()),
        thread::spawn(move || {
            rounds()
                .inspect(|number| {
                    // Now and then this thread sends nothing for a while, so that the receiver may
                    // sleep.
                    if number % 64 == 0 {
                        thread::sleep(Duration::from_millis(1));
                    }
                })
                .filter(|number| names.send(number.to_string()).is_ok())
                .count()
        }),
    ];
    let calling: Vec<_> = callers
        .into_iter()
        .map(|mut caller| {
            thread::spawn(move || rounds().filter(|&n| caller.send(n).is_ok()).count())
        })
        .collect();
    let mut select = Select::<W, Native>::default();
    let (mut counts, mut open) = ([0; 3], [true; 3]);
    while open.contains(&true) {
        let places: Vec<usize> = (0..3).filter(|&place| open[place]).collect();
        let ready = {
            let all: [&mut dyn Selectable<W, Native>; 3] =
                [&mut next_number, &mut next_name, &mut inbox];
            let mut all: Vec<_> =
                all.into_iter().zip(open).filter(|(_, open)| *open).map(|(end, _)| end).collect();
            select.ready(&mut all)
        };
        let place = places[ready];
        let error = match place {
            0 => next_number.try_recv().map(|number| assert_eq!(number, counts[0])).err(),
            1 => next_name.try_recv().map(|name| assert_eq!(name, counts[1].to_string())).err(),
            _ => inbox.try_recv().map(|_| ()).err(),
        };
        match error {
            None => counts[place] += 1,
            Some(TryRecvError::Disconnected) => open[place] = false,
            Some(TryRecvError::Empty) => panic!("receiver {place} was said to be ready"),
        }
    }
    let [one, other] = sending.map(|thread| thread.join().expect("it ends") as u64);
    let called: usize = calling.into_iter().map(|thread| thread.join().expect("it ends")).sum();
    assert_eq!(counts, [one, other, called as u64]);
}

#[test]
fn the_first_of_several_that_park() {
    within_limit(selects::<Park>);
}

#[test]
fn the_first_of_several_that_yield() {
    within_limit(selects::<Yield>);
}

#[test]
fn whoever_waits_for_several_gives_up_in_time_and_takes_turns() {
    within_limit(|| {
        let (mut one, mut first) = channel::bounded::<u8>(8);
        let (mut other, mut second) = channel::bounded::<u8>(8);
        let mut select = Select::new();
        let timeout = Duration::from_millis(5);
        assert_eq!(select.try_ready(&mut [&mut first, &mut second]), None);
        assert_eq!(select.ready_timeout(&mut [&mut first, &mut second], timeout), None);
        for _ in 0..4 {
            one.send(1).unwrap();
            other.send(2).unwrap();
        }
        let turns: Vec<_> = (0..8)
            .map(|_| match select.ready(&mut [&mut first, &mut second]) {
                0 => first.recv().unwrap(),
                _ => second.recv().unwrap(),
            })
            .collect();
        assert_eq!(turns, [1, 2, 1, 2, 1, 2, 1, 2]);
        drop(other);
        assert_eq!(select.ready(&mut [&mut first, &mut second]), 1);
        assert_eq!(second.try_recv(), Err(TryRecvError::Disconnected));
    });
}

#[test]
#[should_panic(expected = "there are no receivers")]
fn nothing_to_wait_for_is_refused() {
    Select::new().ready(&mut []);
}
