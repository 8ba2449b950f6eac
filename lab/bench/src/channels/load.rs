//! The loads on channels: streams, round trips, and a server with clients. Each returns messages
//! per second.

use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;
use std::time::{Duration, Instant};

use syncline::memory::Padded;

use super::contender::{Contender, Line};
use crate::locks::processors;

/// The capacity of a stream's channel, in messages.
const ROOM: usize = 1024;
/// The number of polls after which a waiter yields. So many polls take far longer than a transfer.
const MANY_LOOKS: u32 = 1000;
/// The number of messages in a batch.
const BATCH: u64 = 64;

/// Runs a receiver and senders in threads, each on a processor of its own if there are enough.
/// Returns the messages per second.
fn run(
    messages: u64,
    senders: Vec<Box<dyn FnOnce() + Send + '_>>,
    receive: impl FnOnce() + Send,
) -> f64 {
    let start = Barrier::new(senders.len() + 1);
    let start = &start;
    let elapsed: Duration = thread::scope(|scope| {
        for (number, send) in senders.into_iter().enumerate() {
            scope.spawn(move || {
                processors::keep_apart(number + 1);
                start.wait();
                send();
            });
        }
        let receiving = scope.spawn(move || {
            processors::keep_apart(0);
            start.wait();
            let began = Instant::now();
            receive();
            began.elapsed()
        });
        receiving.join().expect("it ends")
    });
    messages as f64 / elapsed.as_secs_f64()
}

/// Two threads take turns to write to one line, so the line goes back and forth between them. This
/// is the limit of the machine itself. Returns transfers per second.
pub fn transfers(count: u64) -> f64 {
    let line = Padded(AtomicU64::new(0));
    let play = |own: u64| {
        for turn in (own..count).step_by(2) {
            let mut looks = 0_u32;
            while line.load(Acquire) != turn {
                looks += 1;
                // The other thread may lack a processor.
                if looks.is_multiple_of(MANY_LOOKS) { thread::yield_now() } else { spin_loop() }
            }
            line.store(turn + 1, Release);
        }
    };
    run(count, vec![Box::new(|| play(0))], || play(1))
}

/// Sends numbers one after another, as fast as possible.
pub fn numbers<C: Contender>(messages: u64) -> f64 {
    let (mut sender, mut receiver) = C::channel::<u64>(ROOM);
    let send = move || (0..messages).for_each(|number| C::send(&mut sender, number));
    run(messages, vec![Box::new(send)], move || {
        (0..messages).for_each(|number| assert_eq!(C::receive(&mut receiver), number));
    })
}

/// Sends messages that fill a line one after another, as fast as possible.
pub fn lines<C: Contender>(messages: u64) -> f64 {
    let (mut sender, mut receiver) = C::channel::<Line>(ROOM);
    let send = move || (0..messages).for_each(|number| C::send(&mut sender, [number; 7]));
    run(messages, vec![Box::new(send)], move || {
        (0..messages).for_each(|number| assert_eq!(C::receive(&mut receiver), [number; 7]));
    })
}

/// Sends numbers in batches.
pub fn batches<C: Contender>(messages: u64) -> f64 {
    let (mut sender, mut receiver) = C::channel::<u64>(ROOM);
    let messages = messages.next_multiple_of(BATCH);
    let send = move || {
        for start in (0..messages).step_by(BATCH as usize) {
            C::send_all(&mut sender, start..start + BATCH);
        }
    };
    run(messages, vec![Box::new(send)], move || {
        (0..messages).for_each(|number| assert_eq!(C::receive(&mut receiver), number));
    })
}

/// Makes round trips, one at a time. Each counts as two messages.
pub fn round_trips<C: Contender>(messages: u64) -> f64 {
    let rounds = messages / 2;
    let (mut ask, mut asked) = C::channel::<u64>(1);
    let (mut answer, mut answered) = C::channel::<u64>(1);
    let send = move || {
        for number in 0..rounds {
            C::send(&mut ask, number);
            assert_eq!(C::receive(&mut answered), number + 1);
        }
    };
    run(2 * rounds, vec![Box::new(send)], move || {
        for _ in 0..rounds {
            let number = C::receive(&mut asked);
            C::send(&mut answer, number + 1);
        }
    })
}

/// Clients send requests to one server and wait for the answers.
pub fn server<C: Contender>(clients: usize, messages: u64) -> f64 {
    let rounds = messages / 2 / clients as u64;
    let (senders, mut inbox) = C::inbox(clients, 2 * clients);
    let mut answers = Vec::new();
    let mut sending: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for (client, mut sender) in senders.into_iter().enumerate() {
        let (answer, mut answered) = C::channel::<u64>(1);
        answers.push(answer);
        sending.push(Box::new(move || {
            for number in 0..rounds {
                C::send(&mut sender, (client, number));
                assert_eq!(C::receive(&mut answered), number + 1);
            }
        }));
    }
    let asked = rounds * clients as u64;
    run(2 * asked, sending, move || {
        for _ in 0..asked {
            let (client, number) = C::next(&mut inbox);
            C::send(&mut answers[client], number + 1);
        }
    })
}
